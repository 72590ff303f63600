// Filling and summing memory word by word, as fast as this CPU's vectors go.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.hpp"

namespace linkscope::host {

/// Writes the pattern of model/pattern.hpp for `seed` from word `first_word` on; a tail shorter than a word holds the
/// word's first bytes. Any alignment.
using FillFunction = void (*)(std::byte* at, Bytes bytes, std::uint64_t seed, std::uint64_t first_word);
/// The sum modulo 2^64 of all 8-byte words; a tail shorter than a word counts as if zeroes followed. Any alignment.
using SumFunction = std::uint64_t (*)(const std::byte* at, Bytes bytes);

/// With the widest vectors this CPU has.
[[nodiscard]] FillFunction widest_fill();
[[nodiscard]] SumFunction widest_sum();

/// What a SumFunction finds in memory that a FillFunction has filled.
[[nodiscard]] std::uint64_t sum_of_pattern(Bytes bytes, std::uint64_t seed, std::uint64_t first_word);

}  // namespace linkscope::host
