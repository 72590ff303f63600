// Word loops: one source, compiled once for each width of vectors; and their non-temporal forms for x86-64 (AVX-512,
// AVX, SSE) and AArch64 (stnp, ldnp).
#include "backend/host/word_loops.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "model/pattern.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

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

#if defined(__x86_64__) || defined(__aarch64__)

namespace {

constexpr std::size_t cache_line = 64;

/// The part that differs by instruction set: whole lines, the non-temporal side aligned to them.
using CopyLines = void (*)(std::byte* destination, const std::byte* source, std::size_t lines);
using SumLines = std::uint64_t (*)(const std::byte* source, std::size_t lines);

#if defined(__x86_64__)

[[gnu::target("avx512f")]] void copy_avx512(std::byte* destination, const std::byte* source,
                                            std::size_t lines) {
  for (std::size_t at = 0; at < lines * cache_line; at += cache_line) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(destination + at), _mm512_loadu_si512(source + at));
  }
}

[[gnu::target("avx")]] void copy_avx(std::byte* destination, const std::byte* source, std::size_t lines) {
  for (std::size_t at = 0; at < lines * cache_line; at += cache_line) {
    const auto* from = reinterpret_cast<const __m256i*>(source + at);
    auto* to = reinterpret_cast<__m256i*>(destination + at);
    const __m256i low = _mm256_loadu_si256(from);
    const __m256i high = _mm256_loadu_si256(from + 1);
    _mm256_stream_si256(to, low);
    _mm256_stream_si256(to + 1, high);
  }
}

void copy_sse2(std::byte* destination, const std::byte* source, std::size_t lines) {
  for (std::size_t at = 0; at < lines * cache_line; at += sizeof(__m128i)) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(destination + at),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + at)));
  }
}

template <std::size_t count>
std::uint64_t total(const std::array<std::uint64_t, count>& parts) {
  return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0});
}

// The intrinsics take pointers to non-const in older headers; none writes.
template <class Vector>
Vector* vector_at(const std::byte* source) {
  return reinterpret_cast<Vector*>(const_cast<std::byte*>(source));
}

[[gnu::target("avx512f")]] std::uint64_t line_sum_avx512(const std::byte* source, std::size_t lines) {
  __m512i sums = _mm512_setzero_si512();
  for (std::size_t at = 0; at < lines * cache_line; at += cache_line) {
    sums = _mm512_add_epi64(sums, _mm512_stream_load_si512(vector_at<__m512i>(source + at)));
  }
  std::array<std::uint64_t, 8> parts{};
  _mm512_storeu_si512(parts.data(), sums);
  return total(parts);
}

[[gnu::target("avx2")]] std::uint64_t line_sum_avx2(const std::byte* source, std::size_t lines) {
  __m256i sums = _mm256_setzero_si256();
  for (std::size_t at = 0; at < lines * cache_line; at += sizeof(__m256i)) {
    sums = _mm256_add_epi64(sums, _mm256_stream_load_si256(vector_at<__m256i>(source + at)));
  }
  std::array<std::uint64_t, 4> parts{};
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(parts.data()), sums);
  return total(parts);
}

[[gnu::target("sse4.1")]] std::uint64_t sum_sse4(const std::byte* source, std::size_t lines) {
  __m128i sums = _mm_setzero_si128();
  for (std::size_t at = 0; at < lines * cache_line; at += sizeof(__m128i)) {
    sums = _mm_add_epi64(sums, _mm_stream_load_si128(vector_at<__m128i>(source + at)));
  }
  std::array<std::uint64_t, 2> parts{};
  _mm_storeu_si128(reinterpret_cast<__m128i*>(parts.data()), sums);
  return total(parts);
}

void publish_stores() { _mm_sfence(); }

#else

void copy_pairs(std::byte* destination, const std::byte* source, std::size_t lines) {
  for (std::size_t at = 0; at < lines * cache_line; at += cache_line) {
    asm volatile(
        "ldp q0, q1, [%1]\n\t"
        "ldp q2, q3, [%1, #32]\n\t"
        "stnp q0, q1, [%0]\n\t"
        "stnp q2, q3, [%0, #32]"
        :
        : "r"(destination + at), "r"(source + at)
        : "v0", "v1", "v2", "v3", "memory");
  }
}

std::uint64_t sum_pairs(const std::byte* source, std::size_t lines) {
  uint64x2_t low = vdupq_n_u64(0);
  uint64x2_t high = vdupq_n_u64(0);
  for (std::size_t at = 0; at < lines * cache_line; at += cache_line / 2) {
    uint64x2_t first;
    uint64x2_t second;
    asm volatile("ldnp %q0, %q1, [%2]" : "=w"(first), "=w"(second) : "r"(source + at) : "memory");
    low = vaddq_u64(low, first);
    high = vaddq_u64(high, second);
  }
  return vaddvq_u64(vaddq_u64(low, high));
}

void publish_stores() { asm volatile("dsb ishst" ::: "memory"); }

#endif

/// Bytes up to the first line boundary, at most `bytes`.
std::size_t bytes_to_line(const std::byte* at, std::size_t bytes) {
  const std::size_t past = reinterpret_cast<std::uintptr_t>(at) % cache_line;
  return past == 0 ? 0 : std::min(bytes, cache_line - past);
}

template <CopyLines copy_lines>
void copy(std::byte* destination, const std::byte* source, std::size_t bytes) {
  const std::size_t head = bytes_to_line(destination, bytes);
  const std::size_t lines = (bytes - head) / cache_line;
  const std::size_t tail = head + lines * cache_line;
  std::memcpy(destination, source, head);
  copy_lines(destination + head, source + head, lines);
  std::memcpy(destination + tail, source + tail, bytes - tail);
  publish_stores();
}

/// Generates the pattern in the nearest cache, block by block, and streams the blocks out.
template <CopyLines copy_lines>
void fill(std::byte* at, Bytes bytes, std::uint64_t seed, std::uint64_t first_word) {
  const FillFunction ordinary = widest_fill();
  const std::size_t head = bytes_to_line(at, bytes);
  if (head % word_bytes != 0) {  // blocks would have to begin within a word
    ordinary(at, bytes, seed, first_word);
    return;
  }
  ordinary(at, head, seed, first_word);
  alignas(cache_line) std::array<std::byte, 64 * cache_line> block;
  std::size_t done = head;
  while (bytes - done >= cache_line) {
    const std::size_t lines = std::min(block.size(), bytes - done) / cache_line;
    ordinary(block.data(), lines * cache_line, seed, first_word + done / word_bytes);
    copy_lines(at + done, block.data(), lines);
    done += lines * cache_line;
  }
  ordinary(at + done, bytes - done, seed, first_word + done / word_bytes);
  publish_stores();
}

template <SumLines sum_lines>
std::uint64_t sum(const std::byte* at, Bytes bytes) {
  const SumFunction ordinary = widest_sum();
  const std::size_t head = bytes_to_line(at, bytes);
  if (head % word_bytes != 0) return ordinary(at, bytes);  // lines would begin within a word
  const std::size_t lines = (bytes - head) / cache_line;
  const std::size_t tail = head + lines * cache_line;
  return ordinary(at, head) + sum_lines(at + head, lines) + ordinary(at + tail, bytes - tail);
}

}  // namespace

#endif

#if defined(__x86_64__)

CopyFunction non_temporal_copy() {
  if (__builtin_cpu_supports("avx512f") != 0) return copy<copy_avx512>;
  if (__builtin_cpu_supports("avx") != 0) return copy<copy_avx>;
  return copy<copy_sse2>;
}

FillFunction non_temporal_fill() {
  if (__builtin_cpu_supports("avx512f") != 0) return fill<copy_avx512>;
  if (__builtin_cpu_supports("avx") != 0) return fill<copy_avx>;
  return fill<copy_sse2>;
}

SumFunction non_temporal_sum() {
  if (__builtin_cpu_supports("avx512f") != 0) return sum<line_sum_avx512>;
  if (__builtin_cpu_supports("avx2") != 0) return sum<line_sum_avx2>;
  return __builtin_cpu_supports("sse4.1") != 0 ? sum<sum_sse4> : nullptr;
}

#elif defined(__aarch64__)

CopyFunction non_temporal_copy() { return copy<copy_pairs>; }
FillFunction non_temporal_fill() { return fill<copy_pairs>; }
SumFunction non_temporal_sum() { return sum<sum_pairs>; }

#else

CopyFunction non_temporal_copy() { return nullptr; }
FillFunction non_temporal_fill() { return nullptr; }
SumFunction non_temporal_sum() { return nullptr; }

#endif

Support can_store_non_temporal() {
  if (non_temporal_copy() != nullptr) return Support::yes();
  return Support::no("non-temporal loads and stores are known on x86-64 and AArch64 only");
}

Support can_load_non_temporal() {
  if (non_temporal_sum() != nullptr || non_temporal_copy() == nullptr) return can_store_non_temporal();
  return Support::no("this CPU has no non-temporal loads (SSE4.1)");
}

}  // namespace linkscope::host
