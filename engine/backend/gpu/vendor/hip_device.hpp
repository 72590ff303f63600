// What HIP's kernels say otherwise than CUDA's, for collectives. Part of vendor.hpp, which alone includes it.
#pragma once

#define LINKSCOPE_IN_PLACE const
// The second number is of wavefronts of 64 on each of a compute unit's four SIMDs.
#define LINKSCOPE_RESIDENT(threads, blocks) __launch_bounds__(threads, ((threads) * (blocks) + 255) / 256)

namespace linkscope::gpu::vendor {

__device__ inline WordPair load_relaxed_system(const WordPair* address) {
  return {__hip_atomic_load(&address->first, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM),
          __hip_atomic_load(&address->second, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM)};
}

__device__ inline void store_relaxed_system(WordPair* address, const WordPair& pair) {
  __hip_atomic_store(&address->first, pair.first, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  __hip_atomic_store(&address->second, pair.second, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}

__device__ inline bool all_of_warp(bool condition) { return __all(condition ? 1 : 0) != 0; }
__device__ inline void join_warp() {}  // wavefronts run in step

__device__ inline std::uint64_t opaque(std::uint64_t value) { return value; }

__device__ inline float half_to_float(std::uint16_t bits) {
  return static_cast<float>(__builtin_bit_cast(_Float16, bits));
}

__device__ inline std::uint16_t float_to_half(float number) {
  return __builtin_bit_cast(std::uint16_t, static_cast<_Float16>(number));
}

}  // namespace linkscope::gpu::vendor
