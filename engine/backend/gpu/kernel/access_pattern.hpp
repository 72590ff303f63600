// AccessPattern: narrow, strided and chunked accesses of kernel-read, kernel-write and kernel-copy.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/units.hpp"
#include "model/flow.hpp"
#include "model/method.hpp"

namespace linkscope::gpu {

class GpuContext;

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

  /// Whether a flow names any of width, stride, chunk and fill.
  [[nodiscard]] static bool asked(const Parameters& parameters);
  /// Throws Error{bad_input} for what they cannot be, Error{unsupported} for more than a warp has lanes. A chunk's fill
  /// is a warp by default, or less where the chunk is.
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
  /// Whether the byte at `offset` of a slot belongs to an access.
  [[nodiscard]] constexpr bool covers(Bytes offset) const {
    const std::uint64_t element = offset / width;
    const std::uint64_t lane = element % pitch;
    return element / pitch < units_of_lane(lane);
  }
};

/// What the parameters mean, for the catalog.
std::map<std::string, std::string> pattern_parameters();

/// A flow with a source reads, one with a destination writes, one with both copies. Reads are checked by the sum of
/// exactly the elements accessed; writes and copies by every byte: what was accessed holds its data, gaps their poison.
std::unique_ptr<Transfer> make_patterned(std::shared_ptr<GpuContext> context, const Flow& flow,
                                         const Arenas& arenas, const AccessPattern& pattern);

}  // namespace linkscope::gpu
