// FaultRing: pointers through slots of migrating pages, one ring in each.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "backend/gpu/latency/chase_order.hpp"
#include "backend/gpu/migration/migrating_slots.hpp"

namespace linkscope::gpu {

/// What a flow's parameters stride and order come to.
struct RingShape {
  Bytes stride = 0;
  std::uint64_t nodes = 1;
  bool scattered = false;
};

/// Throws Error{bad_input} for unknown words, Error{unsupported} for fewer than two nodes.
[[nodiscard]] RingShape ring_shape_of(const Flow& flow);

/// A walk of `nodes` hops from start(turn) ends where it began.
class FaultRing {
 public:
  FaultRing(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas);

  [[nodiscard]] const RingShape& shape() const { return shape_; }
  [[nodiscard]] MigratingSlots& slots() { return slots_; }
  [[nodiscard]] const MigratingSlots& slots() const { return slots_; }
  [[nodiscard]] std::byte* start(std::uint64_t turn) const {
    return slots_.at(turn) + order_.place(0) * shape_.stride;
  }

  /// Fills the slots and lays the rings.
  void arm(std::uint64_t seed);
  /// Of `done` walks `right` ended where they should.
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t done, std::uint64_t right) const;
  [[nodiscard]] Bytes verified_bytes(std::uint64_t done) const {
    return slots_.touched(done) * shape_.nodes * sizeof(std::byte*);
  }

 private:
  RingShape shape_;
  MigratingSlots slots_;
  RingOrder order_;
};

/// A fault-chase transfer whose executor is a GPU.
[[nodiscard]] std::unique_ptr<Transfer> chase_by_kernel(std::shared_ptr<GpuContext> context, const Flow& flow,
                                                        const Arenas& arenas);

}  // namespace linkscope::gpu
