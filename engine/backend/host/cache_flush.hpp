// Writing lines back and out of the CPU caches.
#pragma once

#include <cstddef>

#include "base/units.hpp"
#include "model/support.hpp"

namespace linkscope::host {

/// Tells whether this CPU lets a process flush lines, and why not.
[[nodiscard]] Support can_flush_caches();
/// Flushes every line that [address, address + length) touches from all caches; has ended when it returns.
/// Throws Error{unsupported} where can_flush_caches() says no.
void flush_caches(const std::byte* address, Bytes length);

}  // namespace linkscope::host
