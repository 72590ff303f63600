// ExecutableGraph and Recording: a graph that can be launched again and again, and how calls become one.
#pragma once

#include <utility>

#include "backend/gpu/vendor.hpp"

namespace linkscope::gpu {

/// A graph on the device that was current when it was made.
class ExecutableGraph {
 public:
  ExecutableGraph() = default;
  /// Instantiates `graph`, uploads it by `stream` and waits: nothing of that is left to the first launch.
  ExecutableGraph(gpuGraph_t graph, gpuStream_t stream);
  ~ExecutableGraph();
  ExecutableGraph(ExecutableGraph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  ExecutableGraph& operator=(ExecutableGraph&& other) noexcept;

  [[nodiscard]] gpuGraphExec_t get() const { return graph_; }
  void launch(gpuStream_t stream) const;

 private:
  gpuGraphExec_t graph_ = nullptr;
};

/// Calls being recorded from a stream into a graph, by the thread that began. Ends the recording however it goes.
class Recording {
 public:
  /// The stream's device is current. The stream is idle.
  explicit Recording(gpuStream_t stream);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// Ends the recording. A thread that records from several streams ends all before it makes any ready: that takes
  /// calls which a recording thread may not make.
  void end();
  /// The graph on the device, which is current.
  [[nodiscard]] ExecutableGraph made_ready() const { return {graph_, stream_}; }

 private:
  gpuStream_t stream_;
  gpuGraph_t graph_ = nullptr;
  bool ended_ = false;
};

}  // namespace linkscope::gpu
