// RecordedGraph: calls recorded from a stream into a graph that can be launched again and again.
#pragma once

#include <utility>

#include "backend/gpu/vendor.hpp"

namespace linkscope::gpu {

/// A graph ready to be launched on the device it was recorded from.
class RecordedGraph {
 public:
  RecordedGraph() = default;
  explicit RecordedGraph(gpuGraphExec_t graph) : graph_(graph) {}
  ~RecordedGraph();
  RecordedGraph(RecordedGraph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  RecordedGraph& operator=(RecordedGraph&& other) noexcept;

  void launch(gpuStream_t stream) const;

 private:
  gpuGraphExec_t graph_ = nullptr;
};

/// A graph being recorded from a stream, by the thread that began. Ends the recording however it goes.
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
  /// Puts the graph onto the device, which is current.
  [[nodiscard]] RecordedGraph made_ready() const;

 private:
  gpuStream_t stream_;
  gpuGraph_t graph_ = nullptr;
  bool ended_ = false;
};

}  // namespace linkscope::gpu
