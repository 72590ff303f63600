// Cache flush by clflushopt (else clflush) on x86-64, dc civac on AArch64 and dcbf on POWER.
#include "backend/host/cache_flush.hpp"

#include <cstdint>

#include "base/error.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace linkscope::host {

#if defined(__x86_64__)

namespace {

Bytes line_bytes() {
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
  const Bytes line = line_bytes();
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
