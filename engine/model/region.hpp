// Region: a box of bytes within a larger one, as 2-D and 3-D copies move it.
#pragma once

#include <cstdint>

#include "base/units.hpp"
#include "model/flow.hpp"

namespace linkscope {

/// `planes` planes of `rows` rows of `width` bytes. Rows are `pitch` bytes apart, planes `plane_pitch`, which is a
/// multiple of the pitch. The region starts where the allocation starts.
/// constexpr so that one definition serves the host and the device (as model/pattern.hpp).
struct Region {
  Bytes width = 0;
  Bytes rows = 1;
  Bytes planes = 1;
  Bytes pitch = 0;
  Bytes plane_pitch = 0;

  bool operator==(const Region&) const = default;

  /// Bytes that move.
  [[nodiscard]] constexpr Bytes payload() const { return width * rows * planes; }
  /// Bytes of the allocation that hold it: its planes, each whole.
  [[nodiscard]] constexpr Bytes footprint() const { return plane_pitch * planes; }
  /// Where row `index` starts, counted through all planes.
  [[nodiscard]] constexpr Bytes row_offset(std::uint64_t index) const {
    return index / rows * plane_pitch + index % rows * pitch;
  }
  /// Says whether the byte at `offset` of the allocation is one of its own.
  [[nodiscard]] constexpr bool contains(Bytes offset) const {
    const Bytes in_plane = offset % plane_pitch;
    return offset < footprint() && in_plane / pitch < rows && in_plane % pitch < width;
  }
  /// How many regions like this one find room below one another, row after row, in each of its planes.
  [[nodiscard]] constexpr std::uint64_t stackable() const { return plane_pitch / (rows * pitch); }
  /// What `count` such regions cover together.
  [[nodiscard]] constexpr Region stacked(std::uint64_t count) const {
    return {width, rows * count, planes, pitch, plane_pitch};
  }
  /// The same bytes with no gaps: what packing them gives.
  [[nodiscard]] constexpr Region packed() const { return {width, rows, planes, width, width * rows}; }
};

inline constexpr Parameter region_shape =
    text("region", "WIDTHxROWSxPLANES (bytes, rows, planes) of what moves; unless set, one row of all bytes");
inline constexpr Parameter region_container = text(
    "in", "WIDTHxROWSxPLANES of the allocation that holds it, at either end; unless set, the region's own");

/// The region that a flow moves, and the allocation that holds it, as the parameters say. Throws Error{bad_input} for a
/// shape that is none, one larger than what holds it, and a payload that is not the flow's.
[[nodiscard]] Region region_of(const Flow& flow);

}  // namespace linkscope
