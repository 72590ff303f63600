// Word loops: filling, summing and copying memory as fast as this CPU's vectors go, past the caches too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "base/units.hpp"

namespace linkscope::host {

/// Writes the pattern of model/pattern.hpp for `seed` from word `first_word` on; a tail shorter than a word holds the
/// word's first bytes. Any alignment.
using FillFunction = void (*)(std::byte* at, Bytes bytes, std::uint64_t seed, std::uint64_t first_word);
/// The sum modulo 2^64 of all 8-byte words; a tail shorter than a word counts as if zeroes followed. Any alignment.
using SumFunction = std::uint64_t (*)(const std::byte* at, Bytes bytes);

/// Return the functions with the widest vectors that this CPU has.
[[nodiscard]] FillFunction widest_fill();
[[nodiscard]] SumFunction widest_sum();

/// Returns what a SumFunction finds in memory that a FillFunction has filled.
[[nodiscard]] std::uint64_t sum_of_pattern(Bytes bytes, std::uint64_t seed, std::uint64_t first_word);

/// Copies like memcpy.
using CopyFunction = void (*)(std::byte* destination, const std::byte* source, std::size_t bytes);

/// Tells whether this CPU has non-temporal stores that linkscope knows.
[[nodiscard]] Support can_store_non_temporal();
/// Tells whether it has such loads. On ordinary memory x86 CPUs serve them like any other; on write-combined memory
/// they fetch whole lines where others fetch words.
[[nodiscard]] Support can_load_non_temporal();

/// The widest this CPU can run; null where the answer above is no. All stores are visible to others on return. The
/// first and last bytes, up to a line's boundary, go by ordinary loads and stores.
[[nodiscard]] CopyFunction non_temporal_copy();
[[nodiscard]] FillFunction non_temporal_fill();
[[nodiscard]] SumFunction non_temporal_sum();

}  // namespace linkscope::host
