// CountedGraph: a chain of small nodes whose runs can be told apart from none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "backend/gpu/memory/device_words.hpp"
#include "backend/gpu/vendor.hpp"
#include "model/buffer.hpp"
#include "model/transfer.hpp"

namespace linkscope::gpu {

class GpuContext;

enum class NodeKind { kernel, copy, copy_3d };

/// What a graph is made of.
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
  /// No kernel has been counted, the copies' source holds the pattern, their destination poison.
  void arm(std::uint64_t seed);
  /// Whether the graph has run `launches` times since arm(seed), as far as its nodes tell.
  [[nodiscard]] std::optional<Mismatch> find_wrong(std::uint64_t seed, std::uint64_t launches) const;
  [[nodiscard]] Bytes verified_bytes() const;

 private:
  /// A copy's rows: one, or 8 in each of 8 planes, with gaps between them.
  struct Rows {
    Bytes width = 0;
    Bytes pitch = 0;
    std::uint64_t rows = 1;
    std::uint64_t planes = 1;
  };

  gpuGraphNode_t add_node_after(gpuGraphNode_t last);

  std::shared_ptr<GpuContext> context_;
  int device_;
  GraphShape shape_;
  Rows rows_;
  DeviceWords count_;
  std::uint64_t* counter_;
  std::unique_ptr<Buffer> source_;
  std::unique_ptr<Buffer> destination_;
  gpuGraph_t graph_ = nullptr;
};

}  // namespace linkscope::gpu
