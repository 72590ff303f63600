// The loops that sweeping kernels are made of. Included by .cu files only.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/gpu/kernel_transfer.hpp"
#include "backend/gpu/launch_shape.hpp"
#include "backend/gpu/vendor.hpp"

namespace linkscope::gpu {

using vendor::Vector;
static_assert(sizeof(Vector) == vector_bytes);

__device__ inline std::uint64_t thread_index() {
  return blockIdx.x * static_cast<std::uint64_t>(blockDim.x) + threadIdx.x;
}
__device__ inline std::uint64_t thread_count() { return gridDim.x * static_cast<std::uint64_t>(blockDim.x); }

__device__ inline std::uint64_t low_word(const Vector& vector) {
  return vector.x | static_cast<std::uint64_t>(vector.y) << 32U;
}
__device__ inline std::uint64_t high_word(const Vector& vector) {
  return vector.z | static_cast<std::uint64_t>(vector.w) << 32U;
}
__device__ inline Vector vector_of(std::uint64_t low, std::uint64_t high) {
  return {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32U),
          static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32U)};
}

/// First byte at which `found` differs from the two words expected; vector_bytes where it does not.
__device__ inline Bytes first_difference(const Vector& found, std::uint64_t low, std::uint64_t high) {
  const std::uint64_t low_bits = low_word(found) ^ low;
  const std::uint64_t high_bits = high_word(found) ^ high;
  if ((low_bits | high_bits) == 0) return vector_bytes;
  const auto first_bit = [](std::uint64_t bits) {
    return static_cast<Bytes>(__ffsll(static_cast<long long>(bits)) - 1);
  };
  return low_bits != 0 ? first_bit(low_bits) / 8 : sizeof low + first_bit(high_bits) / 8;
}

template <Access access>
__device__ Vector load(const Vector* address) {
  if constexpr (access == Access::streaming) return vendor::load_streaming(address);
  return *address;
}

template <Access access>
__device__ void store(Vector* address, const Vector& value) {
  if constexpr (access == Access::streaming) {
    vendor::store_streaming(address, value);
  } else {
    *address = value;
  }
}

/// Calls visit(byte offset of the slot) for each repeat in turn.
template <class Visit>
__device__ void for_each_repeat(const Sweep& sweep, const Visit& visit) {
  std::uint64_t slot = sweep.first;
  for (std::uint64_t repeat = 0; repeat < sweep.repeats; ++repeat) {
    visit(slot * sweep.stride);
    if (++slot == sweep.slots) slot = 0;
  }
}

/// Calls whole(first vector, step) for each of this thread's groups of `unroll` vectors that lie `step` apart within
/// `vectors`, and last(first vector, step) for what remains of it.
template <unsigned unroll, class Whole, class Last>
__device__ void for_each_group(std::uint64_t vectors, const Whole& whole, const Last& last) {
  const std::uint64_t step = thread_count();
  std::uint64_t first = thread_index();
  for (; first + (unroll - 1) * step < vectors; first += unroll * step) whole(first, step);
  if (first < vectors) last(first, step);
}

/// Calls visit(offset within the slot) for this thread's share of the bytes that no vector holds.
template <class Visit>
__device__ void for_each_tail_byte(const Sweep& sweep, const Visit& visit) {
  for (Bytes offset = sweep.vectors * vector_bytes + thread_index(); offset < sweep.bytes;
       offset += thread_count()) {
    visit(offset);
  }
}

/// Copies one slot: all loads of a group are in flight before its first store.
template <unsigned unroll, Access access>
__device__ void copy_vectors(Vector* destination, const Vector* source, std::uint64_t vectors) {
  for_each_group<unroll>(
      vectors,
      [&](std::uint64_t first, std::uint64_t step) {
        Vector group[unroll];
#pragma unroll
        for (unsigned k = 0; k < unroll; ++k) group[k] = load<access>(source + first + k * step);
#pragma unroll
        for (unsigned k = 0; k < unroll; ++k) store<access>(destination + first + k * step, group[k]);
      },
      [&](std::uint64_t first, std::uint64_t step) {
        Vector group[unroll];
#pragma unroll
        for (unsigned k = 0; k < unroll; ++k) {
          if (first + k * step < vectors) group[k] = load<access>(source + first + k * step);
        }
#pragma unroll
        for (unsigned k = 0; k < unroll; ++k) {
          if (first + k * step < vectors) store<access>(destination + first + k * step, group[k]);
        }
      });
}

/// Picks `Kernels::get<unroll, access>()`, a kernel compiled for the shape.
template <class Kernels>
auto kernel_for(const LaunchShape& shape) {
  const auto with_access = [&]<unsigned unroll>() {
    return shape.access == Access::streaming ? Kernels::template get<unroll, Access::streaming>()
                                             : Kernels::template get<unroll, Access::cached>();
  };
  switch (shape.unroll) {
    case 12:
      return with_access.template operator()<12>();
    case 8:
      return with_access.template operator()<8>();
    case 4:
      return with_access.template operator()<4>();
    default:
      return with_access.template operator()<1>();
  }
}

/// Every kernel that kernel_for can pick, to be loaded beforehand.
template <class Kernels>
std::vector<const void*> all_kernels() {
  std::vector<const void*> kernels;
  for (const unsigned unroll : {1U, 4U, 8U, 12U}) {
    for (const Access access : {Access::cached, Access::streaming}) {
      kernels.push_back(reinterpret_cast<const void*>(kernel_for<Kernels>({1, 128, unroll, access})));
    }
  }
  return kernels;
}

}  // namespace linkscope::gpu
