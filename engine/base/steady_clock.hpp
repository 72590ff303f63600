// The host's steady clock, in seconds, and the start of the machine that it counts from.
#pragma once

#include <chrono>
#include <fstream>
#include <string>

#include "base/units.hpp"

namespace linkscope {

/// Seconds since whenever this host's steady clock counts from. It is one for all processes of a host.
inline Seconds steady_seconds() noexcept {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Changes with every start of a host and is the same in all its containers; empty where the system does not say.
[[nodiscard]] inline std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace linkscope
