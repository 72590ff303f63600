// ChaseOrder: the order in which a pointer chase visits the nodes of its span.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/units.hpp"

namespace linkscope::host {

/// The shape of a chase: one node in every `stride` bytes of `span`.
struct ChaseShape {
  Bytes span = 0;
  Bytes stride = 256;
  Bytes locality = 256 * KiB;  ///< visited completely before the next such piece: amortises TLB misses

  [[nodiscard]] std::uint64_t nodes() const { return span / stride; }
};

/// One random cycle over all nodes. The order is random within pieces of `locality` bytes, and so is the
/// order of the pieces; a node's pointer is at a random word of its stride, the same for nodes 64 apart.
/// These are the rules of google/multichase, and the words are those its default seed draws: they decide how
/// evenly the chase fills the sets of a cache, which moves figures near a cache's size by several percent.
class ChaseOrder {
 public:
  /// The permutation depends on `seed`; the words within strides do not.
  ChaseOrder(const ChaseShape& shape, std::uint64_t seed);

  [[nodiscard]] std::uint64_t size() const { return order_.size(); }
  /// Byte offset, from the span's start, of the pointer visited `step` hops after the first.
  [[nodiscard]] Bytes offset(std::uint64_t step) const {
    return offset_of_node(order_[step % order_.size()]);
  }
  /// Index of the node visited at `step`.
  [[nodiscard]] std::uint32_t node(std::uint64_t step) const { return order_[step % order_.size()]; }

 private:
  static constexpr std::size_t mixed_nodes = 64;

  [[nodiscard]] Bytes offset_of_node(std::uint32_t node) const {
    return node * stride_ + word_[node % mixed_nodes];
  }

  Bytes stride_;
  std::array<Bytes, mixed_nodes> word_{};
  std::vector<std::uint32_t> order_;
};

}  // namespace linkscope::host
