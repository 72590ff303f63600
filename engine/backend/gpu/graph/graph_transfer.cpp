#include "backend/gpu/graph/graph_transfer.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "backend/gpu/context.hpp"
#include "backend/gpu/copy/copy_path.hpp"
#include "backend/gpu/graph/recorded_graph.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

constexpr std::uint64_t most_recorded = 1024;

class GraphTransfer final : public GpuTransfer {
 public:
  GraphTransfer(std::shared_ptr<GpuContext> context, std::unique_ptr<Transfer> inner, GpuTransfer& work,
                std::uint64_t recorded)
      : context_(std::move(context)), inner_(std::move(inner)), work_(work), recorded_(recorded) {
    own_facts() = facts_of_graph(work_.facts(), recorded_);
    try {
      record();
    } catch (const Error& error) {
      if (error.fault() == Fault::fatal) throw;
      throw Error(Fault::unsupported, std::string("cannot be captured into a graph: ") + error.what());
    }
  }

  [[nodiscard]] int device() const override { return work_.device(); }
  void enqueue(gpuStream_t stream, std::uint64_t repeats) override {
    for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) graph_.launch(stream);
    launches_ += repeats;
    work_.count_as_run(launches_ * recorded_);
  }
  void lead_in(gpuStream_t stream) override { work_.lead_in(stream); }

  void arm(std::uint64_t seed) override {
    work_.arm(seed);
    launches_ = 0;
    record();
  }
  void restore() override { work_.restore(); }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override {
    return work_.verify(seed);
  }
  [[nodiscard]] std::optional<Mismatch> fault() const override { return work_.fault(); }
  [[nodiscard]] Bytes verified_bytes() const override { return work_.verified_bytes(); }
  void flush() override { work_.flush(); }

  void use(const Setting& setting) override {
    work_.use(setting);
    record();
  }
  [[nodiscard]] std::vector<std::string> notes() const override { return work_.notes(); }

 private:
  /// What the work depends on (pattern, launch shape) is fixed in a graph: each change takes a new one.
  void record() {
    graph_ = {};
    context_->use(device());
    const gpuStream_t stream = context_->service_stream(device());
    Recording recording(stream);
    // One by one: a transfer may make one launch of what it is asked for at once.
    for (std::uint64_t i = 0; i < recorded_; ++i) work_.enqueue(stream, 1);
    recording.end();
    graph_ = recording.made_ready();
    work_.count_as_run(launches_ * recorded_);
  }
  std::shared_ptr<GpuContext> context_;
  std::unique_ptr<Transfer> inner_;
  GpuTransfer& work_;  ///< what inner_ holds
  std::uint64_t recorded_;
  ExecutableGraph graph_;
  std::uint64_t launches_ = 0;  ///< since arm()
};

}  // namespace

std::map<std::string, std::string> graph_parameters() {
  return {{"graph",
           "transfers recorded into one graph, which is launched once per repeat, up to 1024; "
           "0 (default): no graph"}};
}

std::uint64_t graph_operations(const Parameters& parameters) {
  const std::int64_t recorded = parameters.number("graph", 0);
  if (recorded < 0 || std::cmp_greater(recorded, most_recorded)) {
    throw Error(Fault::bad_input, "parameter graph: 0 to " + std::to_string(most_recorded));
  }
  return static_cast<std::uint64_t>(recorded);
}

std::unique_ptr<Transfer> replay_by_graph(std::shared_ptr<GpuContext> context,
                                          std::unique_ptr<Transfer> inner, std::uint64_t recorded) {
  auto* work = dynamic_cast<GpuTransfer*>(inner.get());
  if (work == nullptr) {
    throw Error(Fault::unsupported, "cannot be captured into a graph: the work is not on a stream");
  }
  if (work->enqueueing() == Enqueue::blocks) {
    throw Error(
        Fault::unsupported,
        "cannot be captured into a graph: the call keeps the calling thread (pageable, managed or staged "
        "copies do, and synchronous calls)");
  }
  return std::make_unique<GraphTransfer>(std::move(context), std::move(inner), *work, recorded);
}

}  // namespace linkscope::gpu
