// AccessPattern: narrow, strided and chunked accesses of kernel-read, kernel-write and kernel-copy. AtomicWork: the
// operations of kernel-atomic.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/gpu/gpu_method.hpp"
#include "backend/gpu/kernel/sweep_transfer.hpp"
#include "base/units.hpp"

namespace linkscope::gpu {

/// Accesses of `width` bytes: the first `fill` of every `pitch` elements of that width. A stride is a fill of one,
/// each unit (one filled run) a thread's. A chunk is a warp's: its lanes take the elements, lanes past `fill` none.
struct AccessPattern {
  enum class Unit { thread, warp };

  Bytes width = 16;
  std::uint64_t pitch = 1;
  std::uint64_t fill = 1;
  std::uint64_t whole_units = 1;    ///< with `fill` accesses each
  std::uint64_t last_accesses = 0;  ///< of one unit more, where the accesses do not come out even
  Unit unit = Unit::thread;

  /// Says whether a flow names any of width, stride, chunk and fill.
  [[nodiscard]] static bool asked(const Parameters& parameters);
  /// Throws Error{bad_input} for parameters that exclude each other, Error{unsupported} for more accesses in a chunk
  /// than a warp has lanes. A chunk's fill is a warp by default, or less where the chunk is.
  static AccessPattern of(const Flow& flow, unsigned warp_size);

  [[nodiscard]] constexpr std::uint64_t accesses() const { return whole_units * fill + last_accesses; }
  [[nodiscard]] constexpr std::uint64_t units() const { return whole_units + (last_accesses > 0 ? 1 : 0); }
  /// Memory that the accesses spread over, the gap behind the last one included: payload times pitch over fill.
  [[nodiscard]] constexpr Bytes span() const { return units() * pitch * width; }
  /// Units in which lane `lane` has an access.
  [[nodiscard]] constexpr std::uint64_t units_of_lane(std::uint64_t lane) const {
    if (lane >= fill) return 0;
    return whole_units + (lane < last_accesses ? 1 : 0);
  }
  /// Says whether the byte at `offset` of a slot belongs to an access.
  [[nodiscard]] constexpr bool covers(Bytes offset) const {
    const std::uint64_t element = offset / width;
    const std::uint64_t lane = element % pitch;
    return element / pitch < units_of_lane(lane);
  }
};

enum class AtomicOperation { add, exchange, compare_and_swap };

/// Operation i works on word i % addresses.
struct AtomicWork {
  AtomicOperation operation = AtomicOperation::add;
  Bytes width = 4;
  std::uint64_t count = 1;  ///< operations of one transfer
  std::uint64_t addresses = 1;

  [[nodiscard]] Bytes span() const { return addresses * width; }
  /// Operations of one transfer on `word`.
  [[nodiscard]] constexpr std::uint64_t laps(std::uint64_t word) const {
    return count / addresses + (word < count % addresses ? 1 : 0);
  }

  /// Parameters operation, width and addresses. Throws Error{bad_input} for another width than 4 and 8.
  static AtomicWork of(const Flow& flow);
};

/// Completes the work of flow with a kernel and its launch, and with a check where the method needs one of its own.
using CompleteWork = void (*)(SweepWork& work, const Flow& flow);

/// What kernel-read, kernel-write and kernel-copy have in common: threads go over all of a slot, 16 bytes at a time, as
/// `dense` has it, or access it as the flow's AccessPattern says. A rotated flow cycles through more memory where its
/// accesses are apart, as rotation_spread() has it.
Method access_method(const std::shared_ptr<GpuContext>& gpus, const MethodSpec& spec, Ends ends,
                     CompleteWork dense);

/// A flow with a source reads, one with a destination writes, one with both copies. Reads are checked by the sum of
/// exactly the elements accessed; writes and copies by every byte: what was accessed holds its data, gaps their poison.
SweepWork patterned_work(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas,
                         const AccessPattern& pattern);

}  // namespace linkscope::gpu
