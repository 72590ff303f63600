// Arrival: when a start that arrives late is to begin.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/units.hpp"

namespace linkscope::gpu {

/// The part of its latest arrival that a round's start waits: in [0, 1), evenly over rounds.
inline double drawn_part(std::uint64_t round) {
  constexpr double golden = 0.6180339887498949;  // its multiples, less their whole parts, fill 0..1 evenly
  return std::fmod(static_cast<double>(round) * golden, 1.0);
}

}  // namespace linkscope::gpu
