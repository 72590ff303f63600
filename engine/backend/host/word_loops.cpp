// Word loops: one source, compiled once for each width of vectors.
#include "backend/host/word_loops.hpp"

#include <cstring>

#include "model/pattern.hpp"

namespace linkscope::host {

namespace {

// Inlined into functions of different targets, whose vectors the compiler then uses. memcpy of one word is a plain
// unaligned load or store.
[[gnu::always_inline]] inline void fill(std::byte* at, Bytes bytes, std::uint64_t seed,
                                        std::uint64_t first_word) {
  const std::uint64_t words = bytes / word_bytes;
  for (std::uint64_t i = 0; i < words; ++i) {
    const std::uint64_t word = pattern_word(seed, first_word + i);
    std::memcpy(at + i * word_bytes, &word, word_bytes);
  }
  const std::uint64_t last = pattern_word(seed, first_word + words);
  std::memcpy(at + words * word_bytes, &last, bytes % word_bytes);
}

[[gnu::always_inline]] inline std::uint64_t sum(const std::byte* at, Bytes bytes) {
  const std::uint64_t words = bytes / word_bytes;
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < words; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, at + i * word_bytes, word_bytes);
    total += word;
  }
  std::uint64_t last = 0;
  std::memcpy(&last, at + words * word_bytes, bytes % word_bytes);
  return total + last;
}

void fill_narrow(std::byte* at, Bytes bytes, std::uint64_t seed, std::uint64_t first_word) {
  fill(at, bytes, seed, first_word);
}
std::uint64_t sum_narrow(const std::byte* at, Bytes bytes) { return sum(at, bytes); }

#if defined(__x86_64__)

[[gnu::target("avx2")]] void fill_avx2(std::byte* at, Bytes bytes, std::uint64_t seed,
                                       std::uint64_t first_word) {
  fill(at, bytes, seed, first_word);
}
[[gnu::target("avx2")]] std::uint64_t sum_avx2(const std::byte* at, Bytes bytes) { return sum(at, bytes); }

[[gnu::target("avx512f")]] void fill_avx512(std::byte* at, Bytes bytes, std::uint64_t seed,
                                            std::uint64_t first_word) {
  fill(at, bytes, seed, first_word);
}
[[gnu::target("avx512f")]] std::uint64_t sum_avx512(const std::byte* at, Bytes bytes) {
  return sum(at, bytes);
}

#endif

}  // namespace

FillFunction widest_fill() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") != 0) return fill_avx512;
  if (__builtin_cpu_supports("avx2") != 0) return fill_avx2;
#endif
  return fill_narrow;
}

SumFunction widest_sum() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") != 0) return sum_avx512;
  if (__builtin_cpu_supports("avx2") != 0) return sum_avx2;
#endif
  return sum_narrow;
}

std::uint64_t sum_of_pattern(Bytes bytes, std::uint64_t seed, std::uint64_t first_word) {
  const std::uint64_t words = bytes / word_bytes;
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < words; ++i) total += pattern_word(seed, first_word + i);
  const std::uint64_t whole = pattern_word(seed, first_word + words);
  std::uint64_t last = 0;
  std::memcpy(&last, &whole, bytes % word_bytes);
  return total + last;
}

}  // namespace linkscope::host
