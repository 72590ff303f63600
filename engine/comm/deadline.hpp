// Moments of the steady clock as time limits.
#pragma once

#include <chrono>

#include "base/units.hpp"

namespace linkscope {

using Deadline = std::chrono::steady_clock::time_point;

/// `seconds` from now, which may be long: a year at most.
inline Deadline deadline_in(Seconds seconds) {
  constexpr Seconds year = 3.2e7;
  const std::chrono::duration<double> length(seconds < year ? seconds : year);
  return std::chrono::steady_clock::now() + std::chrono::duration_cast<Deadline::duration>(length);
}

inline bool has_passed(Deadline deadline) { return std::chrono::steady_clock::now() >= deadline; }

}  // namespace linkscope
