// Non-temporal copies for x86-64: see the header.
#include "backend/host/non_temporal.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace linkscope::host {

#if defined(__x86_64__)

namespace {

constexpr std::size_t line = 64;

/// Copies up to the destination's first line boundary and returns how many bytes that were.
std::size_t copy_head(std::byte* destination, const std::byte* source, std::size_t bytes) {
  const std::size_t past = reinterpret_cast<std::uintptr_t>(destination) % line;
  const std::size_t head = past == 0 ? 0 : std::min(bytes, line - past);
  std::memcpy(destination, source, head);
  return head;
}

__attribute__((target("avx512f"))) void copy_avx512(std::byte* destination, const std::byte* source,
                                                    std::size_t bytes) {
  std::size_t at = copy_head(destination, source, bytes);
  for (; at + line <= bytes; at += line) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(destination + at), _mm512_loadu_si512(source + at));
  }
  std::memcpy(destination + at, source + at, bytes - at);
  _mm_sfence();
}

__attribute__((target("avx"))) void copy_avx(std::byte* destination, const std::byte* source,
                                             std::size_t bytes) {
  std::size_t at = copy_head(destination, source, bytes);
  for (; at + line <= bytes; at += line) {
    const auto* from = reinterpret_cast<const __m256i*>(source + at);
    auto* to = reinterpret_cast<__m256i*>(destination + at);
    const __m256i low = _mm256_loadu_si256(from);
    const __m256i high = _mm256_loadu_si256(from + 1);
    _mm256_stream_si256(to, low);
    _mm256_stream_si256(to + 1, high);
  }
  std::memcpy(destination + at, source + at, bytes - at);
  _mm_sfence();
}

void copy_sse2(std::byte* destination, const std::byte* source, std::size_t bytes) {
  std::size_t at = copy_head(destination, source, bytes);
  for (; at + line <= bytes; at += line) {
    for (std::size_t part = 0; part < line; part += sizeof(__m128i)) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(destination + at + part),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + at + part)));
    }
  }
  std::memcpy(destination + at, source + at, bytes - at);
  _mm_sfence();
}

}  // namespace

Support can_copy_non_temporal() { return Support::yes(); }  // SSE2 is part of x86-64

CopyFunction non_temporal_copy() {
  if (__builtin_cpu_supports("avx512f") != 0) return copy_avx512;
  if (__builtin_cpu_supports("avx") != 0) return copy_avx;
  return copy_sse2;
}

#else

Support can_copy_non_temporal() { return Support::no("non-temporal copies are known on x86-64 only"); }

CopyFunction non_temporal_copy() { return nullptr; }

#endif

}  // namespace linkscope::host
