// The loops that sweeping kernels are made of. Included by .cu files only.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "backend/gpu/kernel/sweep_transfer.hpp"
#include "backend/gpu/memory/service_kernels.hpp"

namespace linkscope::gpu {

/// Past the first-level cache: repeats shall find what all multiprocessors share, not what each kept for itself.
template <Access access>
__device__ Vector load(const Vector* address) {
  if constexpr (access == Access::streaming) return vendor::load_streaming(address);
  return vendor::load_shared_level(address);
}

template <Access access>
__device__ void store(Vector* address, const Vector& value) {
  if constexpr (access == Access::streaming) {
    vendor::store_streaming(address, value);
  } else {
    *address = value;
  }
}

/// Calls visit(byte offset of the slot) for each repeat in turn, or for the one that blockIdx.y says.
template <class Visit>
__device__ void for_each_repeat(const Sweep& sweep, const Visit& visit) {
  std::uint64_t slot = blockIdx.y == 0 ? sweep.first : (sweep.first + blockIdx.y) % sweep.slots;
  for (std::uint64_t repeat = blockIdx.y; repeat < sweep.repeats; repeat += gridDim.y) {
    visit(slot * sweep.stride);
    if (++slot == sweep.slots) slot = 0;  // gridDim.y is 1, or the number of all repeats
  }
}

/// Counts how often so many transfers from slot 0 on have gone through `slot`.
__device__ inline std::uint64_t times_through(const Sweep& sweep, std::uint64_t slot,
                                              std::uint64_t transfers) {
  return transfers / sweep.slots + (slot < transfers % sweep.slots ? 1 : 0);
}

/// Which items of a range are a worker's (a thread, or another unit of a block): groups of `unroll` items that are
/// `step` apart, the first group from `first` on, the next ones `jump` further each.
struct Walk {
  std::uint64_t first;
  std::uint64_t step;
  std::uint64_t jump;
};

/// The walk of worker `worker` of the `workers` that a block has.
template <unsigned unroll>
__device__ Walk walk_of(Order order, std::uint64_t worker, std::uint64_t workers) {
  const std::uint64_t all = gridDim.x * workers;
  if (order == Order::tiles) return {blockIdx.x * workers * unroll + worker, workers, unroll * all};
  return {blockIdx.x * workers + worker, all, unroll * all};
}

/// Calls whole(first item, step) for each of the walk's groups that are within `items`, and last(first item, step) for
/// what remains of it.
template <unsigned unroll, class Whole, class Last>
__device__ void for_each_group(const Walk& walk, std::uint64_t items, const Whole& whole, const Last& last) {
  std::uint64_t first = walk.first;
  for (; first + (unroll - 1) * walk.step < items; first += walk.jump) whole(first, walk.step);
  if (first < items) last(first, walk.step);
}

/// Does the same for the vectors of a slot, each thread a worker.
template <unsigned unroll, class Whole, class Last>
__device__ void for_each_group(Order order, std::uint64_t vectors, const Whole& whole, const Last& last) {
  for_each_group<unroll>(walk_of<unroll>(order, threadIdx.x, blockDim.x), vectors, whole, last);
}

/// Calls visit(offset within the slot) for this thread's share of the bytes that no vector holds.
template <class Visit>
__device__ void for_each_tail_byte(const Sweep& sweep, const Visit& visit) {
  for (Bytes offset = sweep.vectors * vector_bytes + thread_index(); offset < sweep.bytes;
       offset += thread_count()) {
    visit(offset);
  }
}

/// Stores combine(vectors of the sources at one place) for one slot: all loads of a group are in flight before its
/// first store.
template <unsigned unroll, Access access, unsigned sources, class Combine>
__device__ void combine_vectors(Order order, Vector* destination, const Vector* const (&source)[sources],
                                std::uint64_t vectors, const Combine& combine) {
  for_each_group<unroll>(
      order, vectors,
      [&](std::uint64_t first, std::uint64_t step) {
        Vector group[unroll][sources];
#pragma unroll
        for (unsigned k = 0; k < unroll; ++k) {
#pragma unroll
          for (unsigned s = 0; s < sources; ++s) group[k][s] = load<access>(source[s] + first + k * step);
        }
#pragma unroll
        for (unsigned k = 0; k < unroll; ++k)
          store<access>(destination + first + k * step, combine(group[k]));
      },
      [&](std::uint64_t first, std::uint64_t step) {
        Vector group[unroll][sources];
#pragma unroll
        for (unsigned k = 0; k < unroll; ++k) {
#pragma unroll
          for (unsigned s = 0; s < sources; ++s) {
            if (first + k * step < vectors) group[k][s] = load<access>(source[s] + first + k * step);
          }
        }
#pragma unroll
        for (unsigned k = 0; k < unroll; ++k) {
          if (first + k * step < vectors) store<access>(destination + first + k * step, combine(group[k]));
        }
      });
}

/// Copies one slot.
template <unsigned unroll, Access access>
__device__ void copy_vectors(Order order, Vector* destination, const Vector* source, std::uint64_t vectors) {
  const Vector* const sources[] = {source};
  combine_vectors<unroll, access>(order, destination, sources, vectors,
                                  [](const Vector(&loaded)[1]) { return loaded[0]; });
}

template <auto value>
inline constexpr std::integral_constant<decltype(value), value> constant;

/// Picks the kernel compiled for the grid: kernels(unroll, access), both constants.
template <class Kernels>
auto kernel_for(const Kernels& kernels, const Grid& grid) {
  const auto with_access = [&](auto unroll) {
    return grid.access() == Access::streaming ? kernels(unroll, constant<Access::streaming>)
                                              : kernels(unroll, constant<Access::cached>);
  };
  switch (grid.depth) {
    case 12:
      return with_access(constant<12U>);
    case 8:
      return with_access(constant<8U>);
    case 4:
      return with_access(constant<4U>);
    default:
      return with_access(constant<1U>);
  }
}

/// Every kernel that kernel_for can pick, to be loaded beforehand.
template <class Kernels>
std::vector<const void*> all_kernels(const Kernels& kernels) {
  std::vector<const void*> all;
  for (const unsigned depth : {1U, 4U, 8U, 12U}) {
    for (const unsigned streaming : {0U, 1U}) {
      all.push_back(
          reinterpret_cast<const void*>(kernel_for(kernels, {.depth = depth, .streaming = streaming})));
    }
  }
  return all;
}

}  // namespace linkscope::gpu
