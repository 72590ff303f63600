// The host's steady clock, in seconds.
#pragma once

#include <chrono>

#include "base/units.hpp"

namespace linkscope {

/// Seconds since whenever this host's steady clock counts from. It is one for all processes of a host.
inline Seconds steady_seconds() noexcept {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace linkscope
