// What CUDA's kernels say otherwise than HIP's, for collectives. Part of vendor.hpp, which alone includes it.
#pragma once

/// A kernel's argument that is read where it is, however it is indexed.
#define LINKSCOPE_IN_PLACE const __grid_constant__
/// Launch bounds of a kernel of which `blocks` blocks of up to `threads` threads shall be resident on each
/// multiprocessor.
#define LINKSCOPE_RESIDENT(threads, blocks) __launch_bounds__(threads, blocks)

namespace linkscope::gpu::vendor {

/// Each word of the pair is loaded or stored whole, as the memory model has it for 64 bits; the two may part. Relaxed,
/// of system scope. What threads of a warp store to a line of 128 bytes by one such instruction arrives whole where
/// lines_arrive_whole.
__device__ inline WordPair load_relaxed_system(const WordPair* address) {
  WordPair pair;
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(pair.first), "=l"(pair.second)
               : "l"(address));
  return pair;
}

__device__ inline void store_relaxed_system(WordPair* address, const WordPair& pair) {
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(address), "l"(pair.first),
               "l"(pair.second)
               : "memory");
}

/// Says whether `condition` holds for all of a warp's threads, which call it together.
__device__ inline bool all_of_warp(bool condition) { return __all_sync(0xFFFFFFFFU, condition) != 0; }
/// Brings a warp's threads together again.
__device__ inline void join_warp() { __syncwarp(); }

/// `value`, of which the compiler knows nothing: what depends on it is not reckoned before.
__device__ inline std::uint64_t opaque(std::uint64_t value) {
  asm volatile("" : "+l"(value));
  return value;
}

__device__ inline float half_to_float(std::uint16_t bits) {
  float number;
  asm("cvt.f32.f16 %0, %1;" : "=f"(number) : "h"(bits));
  return number;
}

/// To the nearest, ties to even.
__device__ inline std::uint16_t float_to_half(float number) {
  std::uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(number));
  return bits;
}

}  // namespace linkscope::gpu::vendor
