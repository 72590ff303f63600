// Asks the system who and where this process is.
#include "comm/identity.hpp"

#include <unistd.h>

#include <array>

#include "base/boot_id.hpp"

namespace linkscope {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::string clock_identity() {
  const std::string boot = boot_id();
  if (boot.empty()) return {};
  std::array<char, 64> zone{};
  // Kernels before 5.6 have no time namespaces, and nothing to read.
  const bool zoned = ::readlink("/proc/self/ns/time", zone.data(), zone.size() - 1) > 0;
  return boot + "/" + host_name() + "/" + (zoned ? zone.data() : "");
}

}  // namespace linkscope
