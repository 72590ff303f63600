// Stream capture.
#include "backend/gpu/graph/recorded_graph.hpp"

#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {

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

}  // namespace linkscope::gpu
