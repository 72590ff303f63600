// Non-temporal forms: stores that do not bring the destination into the caches, loads that need not stay there.
#pragma once

#include <cstddef>

#include "backend/host/word_loops.hpp"
#include "model/support.hpp"

namespace linkscope::host {

/// Copies like memcpy.
using CopyFunction = void (*)(std::byte* destination, const std::byte* source, std::size_t bytes);

/// Whether this CPU has non-temporal stores linkscope knows of.
[[nodiscard]] Support can_store_non_temporal();
/// Whether it has such loads. On ordinary memory x86 CPUs serve them like any other; on write-combined memory they
/// fetch whole lines where others fetch words.
[[nodiscard]] Support can_load_non_temporal();

/// The widest this CPU can run; null where the answer above is no. All stores are visible to others on return. The
/// first and last bytes, up to a line's boundary, go by ordinary loads and stores.
[[nodiscard]] CopyFunction non_temporal_copy();
[[nodiscard]] FillFunction non_temporal_fill();
[[nodiscard]] SumFunction non_temporal_sum();

}  // namespace linkscope::host
