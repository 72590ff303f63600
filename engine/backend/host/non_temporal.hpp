// Copying with non-temporal stores, which do not bring the destination into the caches.
#pragma once

#include <cstddef>

#include "model/support.hpp"

namespace linkscope::host {

/// Copies like memcpy; all stores are globally visible when it returns.
using CopyFunction = void (*)(std::byte* destination, const std::byte* source, std::size_t bytes);

/// Whether this CPU has non-temporal stores linkscope knows of.
[[nodiscard]] Support can_copy_non_temporal();
/// The widest such copy this CPU can run (AVX-512, AVX or SSE2); null where can_copy_non_temporal() says no.
[[nodiscard]] CopyFunction non_temporal_copy();

}  // namespace linkscope::host
