// graph-instantiate and graph-launch: what graphs of kernels and small copies cost before they run.
#include <algorithm>

#include "backend/gpu/call/call_transfer.hpp"
#include "backend/gpu/context.hpp"
#include "backend/gpu/graph/graphs.hpp"
#include "backend/gpu/methods.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "backend/host/allocation.hpp"
#include "backend/host/context.hpp"

namespace linkscope::gpu {
namespace {

constexpr std::uint64_t most_nodes = 4096;
constexpr std::uint64_t most_nodes_under_way = 64;  // a launch must not wait for the ones before it
constexpr std::uint64_t most_executable = 32;

constexpr Parameter node_kind =
    word("node", "kernel|copy|copy-3d", "what the nodes are; copy-3d: of 8 rows in 8 planes");
constexpr Parameter node_count =
    integer("nodes", "nodes of the graph, each behind the one before", 1, most_nodes, 1);

GraphShape shape_of(const Flow& flow) {
  return {flow.parameters.choice<NodeKind>(node_kind),
          static_cast<std::uint64_t>(flow.parameters.number(node_count)), flow.bytes};
}

class GraphLaunchTransfer final : public CallTransfer {
 public:
  GraphLaunchTransfer(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& /*arenas*/)
      : CallTransfer(context, flow.executor.index), graph_(context, device(), shape_of(flow)) {
    own_facts().max_repeats = std::max<std::uint64_t>(1, most_nodes_under_way / graph_.nodes());
    own_facts().setting = {{"nodes", static_cast<std::int64_t>(graph_.nodes())}};
    executable_ = ExecutableGraph(graph_.graph(), stream());
    // What the vendor puts off to the first launch is not the measured call's.
    executable_.launch(stream());
    LINKSCOPE_CHECK(gpuStreamSynchronize(stream()));
  }
  ~GraphLaunchTransfer() override { static_cast<void>(gpuStreamSynchronize(stream())); }
  GraphLaunchTransfer(const GraphLaunchTransfer&) = delete;
  GraphLaunchTransfer& operator=(const GraphLaunchTransfer&) = delete;

  void arm(std::uint64_t seed) override {
    CallTransfer::arm(seed);
    graph_.arm(seed);
  }
  [[nodiscard]] Bytes verified_bytes() const override { return graph_.verified_bytes(); }

 private:
  gpuError_t call(std::uint64_t repeats) noexcept override {
    for (std::uint64_t i = 0; i < repeats; ++i) {
      const gpuError_t status = gpuGraphLaunch(executable_.get(), stream());
      if (status != gpuSuccess) return status;
    }
    return gpuSuccess;
  }
  [[nodiscard]] std::optional<Mismatch> find_wrong(std::uint64_t seed) const override {
    return graph_.find_wrong(seed, transfers());
  }

  CountedGraph graph_;
  ExecutableGraph executable_;
};

/// Executable graphs of one graph, as blocks that are taken and given back.
class ExecutableGraphs final : public host::Allocation {
 public:
  ExecutableGraphs(const std::shared_ptr<GpuContext>& context, int device, const GraphShape& shape)
      : context_(context), device_(device), graph_(std::make_unique<CountedGraph>(context, device, shape)) {}

  [[nodiscard]] int take(std::span<host::Block> blocks) noexcept override {
    gpuError_t status = gpuSetDevice(device_);
    for (std::size_t i = 0; i < blocks.size() && status == gpuSuccess; ++i) {
      gpuGraphExec_t executable = nullptr;
      status = gpuGraphInstantiateWithFlags(&executable, graph_->graph(), 0);
      blocks[i] = reinterpret_cast<host::Block>(executable);
    }
    return static_cast<int>(status);
  }
  [[nodiscard]] int give_back(std::span<const host::Block> blocks) noexcept override {
    gpuError_t status = gpuSetDevice(device_);
    for (const host::Block block : blocks) {
      const gpuError_t one = gpuGraphExecDestroy(reinterpret_cast<gpuGraphExec_t>(block));
      if (one != gpuSuccess) status = one;
    }
    return static_cast<int>(status);
  }
  [[nodiscard]] Error failure(int code) const override {
    return {Fault::broken, "a graph of " + std::to_string(graph_->nodes()) +
                               " nodes: " + describe(static_cast<gpuError_t>(code))};
  }
  [[nodiscard]] std::optional<std::string> inspect(std::span<const host::Block> blocks) const override {
    if (const auto wrong = Allocation::inspect(blocks); wrong || blocks.empty()) return wrong;
    constexpr std::uint64_t seed = 1;
    graph_->arm(seed);
    const gpuStream_t stream = context_->service_stream(device_);
    LINKSCOPE_CHECK(gpuGraphLaunch(reinterpret_cast<gpuGraphExec_t>(blocks.front()), stream));
    LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
    const auto wrong = graph_->find_wrong(seed, 1);
    return wrong ? std::optional(wrong->what) : std::nullopt;
  }

 protected:
  [[nodiscard]] Bytes size() const override { return 1; }

 private:
  std::shared_ptr<GpuContext> context_;
  int device_;
  std::unique_ptr<CountedGraph> graph_;
};

std::unique_ptr<Transfer> make_instantiations(const std::shared_ptr<GpuContext>& context, const Flow& flow,
                                              const Arenas& /*arenas*/) {
  const GraphShape shape = shape_of(flow);
  const int device = flow.executor.index;
  const std::uint64_t held = std::clamp<std::uint64_t>(most_nodes / shape.nodes, 1, most_executable);
  return host::allocation_calls(context->host(), calling_node(*context, device),
                                std::make_unique<ExecutableGraphs>(context, device, shape), held,
                                host::Measured::take);
}

}  // namespace

Method graph_instantiate(const std::shared_ptr<GpuContext>& context) {
  return call_row(context, {"graph-instantiate", "time to make a graph executable", Quantity::latency},
                  {node_kind, node_count}, &is_call, &make_instantiations);
}

Method graph_launch(const std::shared_ptr<GpuContext>& context) {
  return call_row(context, {"graph-launch", "time of a graph launch's call", Quantity::latency},
                  {node_kind, node_count}, &is_call, &make<GraphLaunchTransfer>);
}

}  // namespace linkscope::gpu
