// The data every transfer carries: position-dependent, different in every round, not compressible.
#pragma once

#include <cstdint>

#include "base/units.hpp"

namespace linkscope {

/// What the pattern consists of.
inline constexpr Bytes word_bytes = sizeof(std::uint64_t);

/// The 8-byte word at word index `index` of a buffer filled in round `seed`.
/// constexpr so that one definition serves the host and (nvcc --expt-relaxed-constexpr, clang) the device.
/// A Weyl sequence scrambled once: vectorises on a CPU and is no bottleneck on a GPU.
constexpr std::uint64_t pattern_word(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t word = (index + seed * 0xD1B54A32D192ED03ULL) * 0x9E3779B97F4A7C15ULL;
  return word ^ (word >> 29U);
}

/// The seed whose pattern is that of `seed` from word `words` on:
/// pattern_word(shifted_seed(seed, d), i) == pattern_word(seed, d + i). Lets one fill serve many slots.
constexpr std::uint64_t shifted_seed(std::uint64_t seed, std::uint64_t words) {
  return seed + words * 0x6106CCFA448E5ABULL;  // the inverse of pattern_word's seed factor modulo 2^64
}

/// What destinations hold before a transfer: never a value of the pattern by construction of the check
/// (every word is compared, so a stray equality cannot hide an unwritten word for two different seeds).
inline constexpr std::uint8_t poison_byte = 0xA5;

}  // namespace linkscope
