// Stream capture.
#include "backend/gpu/graph/recorded_graph.hpp"

#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {

RecordedGraph::~RecordedGraph() {
  if (graph_ != nullptr) static_cast<void>(gpuGraphExecDestroy(graph_));
}

RecordedGraph& RecordedGraph::operator=(RecordedGraph&& other) noexcept {
  std::swap(graph_, other.graph_);
  return *this;
}

void RecordedGraph::launch(gpuStream_t stream) const { LINKSCOPE_CHECK(gpuGraphLaunch(graph_, stream)); }

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

RecordedGraph Recording::made_ready() const {
  gpuGraphExec_t executable = nullptr;
  LINKSCOPE_CHECK(gpuGraphInstantiateWithFlags(&executable, graph_, 0));
  RecordedGraph recorded(executable);
  LINKSCOPE_CHECK(vendor::upload_graph(executable, stream_));
  LINKSCOPE_CHECK(gpuStreamSynchronize(stream_));
  return recorded;
}

}  // namespace linkscope::gpu
