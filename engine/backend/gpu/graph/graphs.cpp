// Stream capture, and chains of nodes.
#include "backend/gpu/graph/graphs.hpp"

#include <algorithm>

#include "backend/gpu/call/call_transfer.hpp"
#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/memories.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "model/pattern.hpp"

namespace linkscope::gpu {
namespace {

constexpr std::uint64_t rows_of_region = 8;
constexpr std::uint64_t planes_of_region = 8;

}  // namespace

ExecutableGraph::ExecutableGraph(gpuGraph_t graph, gpuStream_t stream) {
  LINKSCOPE_CHECK(gpuGraphInstantiateWithFlags(&graph_, graph, 0));
  try {
    LINKSCOPE_CHECK(vendor::upload_graph(graph_, stream));
    LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
  } catch (...) {
    static_cast<void>(gpuGraphExecDestroy(graph_));
    throw;
  }
}

ExecutableGraph::~ExecutableGraph() {
  if (graph_ != nullptr) static_cast<void>(gpuGraphExecDestroy(graph_));
}

ExecutableGraph& ExecutableGraph::operator=(ExecutableGraph&& other) noexcept {
  std::swap(graph_, other.graph_);
  return *this;
}

void ExecutableGraph::launch(gpuStream_t stream) const { LINKSCOPE_CHECK(gpuGraphLaunch(graph_, stream)); }

// Other threads of the process (lanes at work) may go on with calls that a recording thread may not make.
Recording::Recording(gpuStream_t stream) : stream_(stream) {
  LINKSCOPE_CHECK(gpuStreamBeginCapture(stream_, gpuStreamCaptureModeThreadLocal));
}

Recording::~Recording() {
  if (!ended_) static_cast<void>(gpuStreamEndCapture(stream_, &graph_));
  if (graph_ != nullptr) static_cast<void>(gpuGraphDestroy(graph_));
  if (!ended_) static_cast<void>(gpuGetLastError());
}

void Recording::end() {
  ended_ = true;
  LINKSCOPE_CHECK(gpuStreamEndCapture(stream_, &graph_));
}

CountedGraph::CountedGraph(std::shared_ptr<GpuContext> context, int device, const GraphShape& shape)
    : context_(std::move(context)),
      device_(device),
      shape_(shape),
      count_(*context_, device, 1),
      counter_(count_.data()) {
  context_->load(device_, {counting_kernel(sizeof counter_)});
  const Bytes whole_words = round_up(shape.bytes, word_bytes);
  region_ = {shape.bytes, 1, 1, whole_words, whole_words};
  if (shape.kind == NodeKind::copy_3d) {
    const Bytes width = std::max<Bytes>(1, shape.bytes / (rows_of_region * planes_of_region));
    const Bytes pitch = (width / word_bytes + 1) * 2 * word_bytes;
    region_ = {width, rows_of_region, planes_of_region, pitch, pitch * rows_of_region};
  }
  if (shape.kind != NodeKind::kernel) {
    const DeviceId here{DeviceKind::gpu, device_};
    const auto memory = device_memory(context_);
    const Endpoint where{here, "device", Placement::bound, here, {}, 0, device_traits};
    source_ = memory->allocate(where, region_.footprint());
    destination_ = memory->allocate(where, region_.footprint());
  }
  LINKSCOPE_CHECK(gpuGraphCreate(&graph_, 0));
  try {
    gpuGraphNode_t last = nullptr;
    for (std::uint64_t i = 0; i < shape_.nodes; ++i) last = add_node_after(last);
  } catch (...) {
    static_cast<void>(gpuGraphDestroy(graph_));
    throw;
  }
}

CountedGraph::~CountedGraph() { static_cast<void>(gpuGraphDestroy(graph_)); }

gpuGraphNode_t CountedGraph::add_node_after(gpuGraphNode_t last) {
  const gpuGraphNode_t* before = last == nullptr ? nullptr : &last;
  const std::size_t count = last == nullptr ? 0 : 1;
  gpuGraphNode_t node = nullptr;
  if (shape_.kind == NodeKind::kernel) {
    void* arguments[] = {&counter_};
    gpuKernelNodeParams kernel{};
    kernel.func = const_cast<void*>(counting_kernel(sizeof counter_));
    kernel.gridDim = dim3(1);
    kernel.blockDim = dim3(1);
    kernel.kernelParams = arguments;
    LINKSCOPE_CHECK(gpuGraphAddKernelNode(&node, graph_, before, count, &kernel));
  } else if (shape_.kind == NodeKind::copy) {
    LINKSCOPE_CHECK(gpuGraphAddMemcpyNode1D(&node, graph_, before, count, destination_->data(),
                                            source_->data(), region_.width, gpuMemcpyDeviceToDevice));
  } else {
    gpuMemcpy3DParms region{};
    region.srcPtr = {source_->data(), region_.pitch, region_.width, region_.rows};
    region.dstPtr = {destination_->data(), region_.pitch, region_.width, region_.rows};
    region.extent = {region_.width, region_.rows, region_.planes};
    region.kind = gpuMemcpyDeviceToDevice;
    LINKSCOPE_CHECK(gpuGraphAddMemcpyNode(&node, graph_, before, count, &region));
  }
  return node;
}

void CountedGraph::arm(std::uint64_t seed) {
  count_.clear();
  if (source_ == nullptr) return;
  source_->fill(0, source_->bytes(), seed);
  destination_->poison(0, destination_->bytes());
}

std::optional<Mismatch> CountedGraph::find_wrong(std::uint64_t seed, std::uint64_t launches) const {
  if (shape_.kind == NodeKind::kernel) {
    const std::uint64_t counted = count_.read()[0];
    if (counted == launches * shape_.nodes) return std::nullopt;
    return Mismatch{std::to_string(launches) + " launches of " + std::to_string(shape_.nodes) +
                    " kernels, but " + std::to_string(counted) + " ran"};
  }
  for (std::uint64_t row = 0; launches > 0 && row < region_.rows * region_.planes; ++row) {
    const Bytes at = region_.row_offset(row);
    const auto bad = destination_->compare(at, region_.width, shifted_seed(seed, at / word_bytes));
    if (bad) return Mismatch{"byte " + std::to_string(at + *bad) + " of a graph's copy arrived wrong"};
  }
  return std::nullopt;
}

Bytes CountedGraph::verified_bytes() const {
  return shape_.kind == NodeKind::kernel ? word_bytes : region_.payload();
}

}  // namespace linkscope::gpu
