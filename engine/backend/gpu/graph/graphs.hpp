// ExecutableGraph and Recording: a graph that can be launched again and again, and how calls become one. CountedGraph:
// a chain of small nodes that shows how often it has run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "backend/gpu/memory/device_words.hpp"
#include "backend/gpu/vendor.hpp"
#include "model/buffer.hpp"
#include "model/region.hpp"
#include "model/transfer.hpp"

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
  /// What was recorded, once that has ended.
  [[nodiscard]] gpuGraph_t graph() const { return graph_; }
  /// The graph on the device, which is current.
  [[nodiscard]] ExecutableGraph made_ready() const { return {graph_, stream_}; }

 private:
  gpuStream_t stream_;
  gpuGraph_t graph_ = nullptr;
  bool ended_ = false;
};

enum class NodeKind { kernel, copy, copy_3d };

/// The nodes of a graph.
struct GraphShape {
  NodeKind kind = NodeKind::kernel;
  std::uint64_t nodes = 1;
  Bytes bytes = 0;  ///< that one copy moves
};

/// The graph, not yet executable, and the memory of its nodes on one device.
class CountedGraph {
 public:
  CountedGraph(std::shared_ptr<GpuContext> context, int device, const GraphShape& shape);
  ~CountedGraph();
  CountedGraph(const CountedGraph&) = delete;
  CountedGraph& operator=(const CountedGraph&) = delete;

  [[nodiscard]] gpuGraph_t graph() const { return graph_; }
  [[nodiscard]] std::uint64_t nodes() const { return shape_.nodes; }
  /// Counts no kernel, lays the pattern of `seed` into the copies' source and poison into their destination.
  void arm(std::uint64_t seed);
  /// Says whether the graph has run `launches` times since arm(seed), as far as its nodes tell.
  [[nodiscard]] std::optional<Mismatch> find_wrong(std::uint64_t seed, std::uint64_t launches) const;
  [[nodiscard]] Bytes verified_bytes() const;

 private:
  gpuGraphNode_t add_node_after(gpuGraphNode_t last);

  std::shared_ptr<GpuContext> context_;
  int device_;
  GraphShape shape_;
  Region region_;  ///< that a copy moves: one row, or 8 in each of 8 planes, with gaps between them
  DeviceWords count_;
  std::uint64_t* counter_;
  std::unique_ptr<Buffer> source_;
  std::unique_ptr<Buffer> destination_;
  gpuGraph_t graph_ = nullptr;
};

}  // namespace linkscope::gpu
