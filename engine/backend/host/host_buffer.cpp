#include "backend/host/host_buffer.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "backend/host/word_loops.hpp"
#include "base/error.hpp"
#include "model/pattern.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace linkscope::host {

namespace {

/// Returns the first byte at which memory is not what `make(to, from, size)` writes for bytes [from, from + size).
template <class Make>
std::optional<Bytes> find_difference(WorkerPool& workers, const std::byte* at, Bytes length,
                                     const Make& make) {
  std::atomic<Bytes> first_bad{length};
  workers.share(length, [&](Bytes begin, Bytes piece) {
    std::array<std::byte, 4 * KiB> expected;
    for (Bytes from = begin; from < begin + piece; from += expected.size()) {
      const Bytes size = std::min(expected.size(), begin + piece - from);
      make(expected.data(), from, size);
      if (std::memcmp(at + from, expected.data(), size) == 0) continue;
      const auto differs = std::mismatch(at + from, at + from + size, expected.begin());
      const auto bad = static_cast<Bytes>(differs.first - at);
      for (Bytes known = first_bad; bad < known && !first_bad.compare_exchange_weak(known, bad);) {
      }
      return;
    }
  });
  return first_bad == length ? std::nullopt : std::optional<Bytes>(first_bad);
}

template <class Word>
void write_words(std::byte* at, Bytes length, const Elements& elements, std::uint64_t seed) {
  for (std::uint64_t i = 0; i * sizeof(Word) < length; ++i) {
    const auto word = static_cast<Word>(element_bits(elements.type, element_at(elements, seed, i)));
    std::memcpy(at + i * sizeof word, &word, sizeof word);
  }
}

/// Writes the elements that are `from` bytes behind the first.
void write_elements(std::byte* at, Bytes length, Elements elements, Bytes from, std::uint64_t seed) {
  const unsigned width = element_bytes(elements.type);
  elements.first += from / width;
  (width == 4 ? write_words<std::uint32_t> : write_words<std::uint16_t>)(at, length, elements, seed);
}

}  // namespace

HostBuffer::HostBuffer(Endpoint where, Bytes bytes, std::byte* address, Deleter deleter, WorkerPool& workers)
    : Buffer(std::move(where), bytes), address_(address), deleter_(std::move(deleter)), workers_(workers) {}

HostBuffer::~HostBuffer() {
  if (deleter_) deleter_(address_);
}

void HostBuffer::fill(Bytes offset, Bytes length, std::uint64_t seed) {
  std::byte* const at = address_ + offset;
  workers_.share(length,
                 [=](Bytes from, Bytes size) { widest_fill()(at + from, size, seed, from / word_bytes); });
}

void HostBuffer::poison(Bytes offset, Bytes length) {
  std::byte* const at = address_ + offset;
  workers_.share(length, [=](Bytes from, Bytes size) { std::memset(at + from, poison_byte, size); });
}

std::optional<Bytes> HostBuffer::compare(Bytes offset, Bytes length, std::uint64_t seed) const {
  return find_difference(workers_, address_ + offset, length, [=](std::byte* to, Bytes from, Bytes size) {
    widest_fill()(to, size, seed, from / word_bytes);
  });
}

void HostBuffer::fill_elements(Bytes offset, Bytes length, const Elements& elements, std::uint64_t seed) {
  std::byte* const at = address_ + offset;
  workers_.share(length,
                 [=](Bytes from, Bytes size) { write_elements(at + from, size, elements, from, seed); });
}

std::optional<Bytes> HostBuffer::compare_elements(Bytes offset, Bytes length, const Elements& elements,
                                                  std::uint64_t seed) const {
  return find_difference(workers_, address_ + offset, length, [=](std::byte* to, Bytes from, Bytes size) {
    write_elements(to, size, elements, from, seed);
  });
}

void HostBuffer::flush(Bytes offset, Bytes length) {
  if (const Support support = can_flush_caches(); !support) throw Error(Fault::unsupported, support.reason());
  const std::byte* const at = address_ + offset;
  workers_.share(length, [=](Bytes from, Bytes size) { flush_caches(at + from, size); });
}

// Lines are flushed by clflushopt (else clflush) on x86-64, dc civac on AArch64 and dcbf on POWER.
#if defined(__x86_64__)

namespace {

Bytes flushed_line() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  __get_cpuid(1, &a, &b, &c, &d);
  return Bytes{(b >> 8U) & 0xFFU} * 8;
}

bool has_clflushopt() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & (1U << 23U)) != 0;
}

// The intrinsics take a pointer to non-const; neither writes to the line.
__attribute__((target("clflushopt"))) void flush_unordered(std::uintptr_t first, std::uintptr_t end,
                                                           Bytes line) {
  for (auto at = first; at < end; at += line) _mm_clflushopt(reinterpret_cast<void*>(at));
}

void flush_ordered(std::uintptr_t first, std::uintptr_t end, Bytes line) {
  for (auto at = first; at < end; at += line) _mm_clflush(reinterpret_cast<void*>(at));
}

}  // namespace

Support can_flush_caches() { return Support::yes(); }  // clflush is part of x86-64

void flush_caches(const std::byte* address, Bytes length) {
  const Bytes line = flushed_line();
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  _mm_mfence();
  (has_clflushopt() ? flush_unordered : flush_ordered)(begin / line * line, begin + length, line);
  _mm_mfence();
}

#elif defined(__aarch64__)

Support can_flush_caches() { return Support::yes(); }  // Linux lets user space use dc civac

void flush_caches(const std::byte* address, Bytes length) {
  std::uint64_t type = 0;
  asm volatile("mrs %0, ctr_el0" : "=r"(type));
  const Bytes line = Bytes{4} << ((type >> 16U) & 0xFU);
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  for (auto at = begin / line * line; at < begin + length; at += line)
    asm volatile("dc civac, %0" ::"r"(at) : "memory");
  asm volatile("dsb sy" ::: "memory");
}

#elif defined(__powerpc64__)

Support can_flush_caches() { return Support::yes(); }  // dcbf is no privileged instruction

void flush_caches(const std::byte* address, Bytes length) {
  constexpr Bytes line = 128;  // of every POWER since the first with 64 bits
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  asm volatile("sync" ::: "memory");
  for (auto at = begin / line * line; at < begin + length; at += line)
    asm volatile("dcbf 0, %0" ::"r"(at) : "memory");
  asm volatile("sync" ::: "memory");
}

#else

Support can_flush_caches() {
  return Support::no("flushing CPU caches is known on x86-64, AArch64 and POWER only");
}

void flush_caches(const std::byte*, Bytes) { throw Error(Fault::unsupported, can_flush_caches().reason()); }

#endif

}  // namespace linkscope::host
