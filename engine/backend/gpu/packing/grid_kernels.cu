#include "backend/gpu/packing/grid_kernels.hpp"

#include <algorithm>

#include "backend/gpu/vendor/check.hpp"
#include "model/pattern.hpp"

namespace linkscope::gpu {
namespace {

constexpr unsigned copy_threads = 256;  // as in CloverLeaf
constexpr unsigned check_threads = 512;
constexpr std::uint64_t poison_word = 0x0101010101010101ULL * poison_byte;

__device__ std::uint64_t first_of_grid() {
  return blockIdx.x * static_cast<std::uint64_t>(blockDim.x) + threadIdx.x;
}
__device__ std::uint64_t grid_threads() { return gridDim.x * static_cast<std::uint64_t>(blockDim.x); }

__global__ void copy_rows_kernel(PackedRows rows) {
  const std::uint64_t row = first_of_grid();
  if (row >= rows.rows) return;
  auto* to = reinterpret_cast<std::uint64_t*>(rows.to + row * rows.to_pitch);
  const auto* from = reinterpret_cast<const std::uint64_t*>(rows.from + row * rows.from_pitch);
  for (std::uint64_t word = 0; word < rows.words; ++word) to[word] = from[word];
}

__global__ void copy_words_kernel(PackedRows rows) {
  const std::uint64_t word = first_of_grid();
  if (word >= rows.words) return;
  reinterpret_cast<std::uint64_t*>(rows.to)[word] = reinterpret_cast<const std::uint64_t*>(rows.from)[word];
}

/// Calls visit(number, word's place, row, column) for each of a box's words that is this thread's, in rising order.
template <class Visit>
__device__ void each_word(const GridBox& box, Visit visit) {
  const std::uint64_t words = box.rows * box.columns;
  for (std::uint64_t i = first_of_grid(); i < words; i += grid_threads()) {
    const std::uint64_t row = i / box.columns;
    const std::uint64_t column = i - row * box.columns;
    if (!visit(i, reinterpret_cast<std::uint64_t*>(box.base + row * box.pitch) + column,
               box.first + row * box.step + column))
      return;
  }
}

__global__ void fill_box_kernel(GridBox box, std::uint64_t seed) {
  each_word(box, [&](std::uint64_t, std::uint64_t* at, std::uint64_t index) {
    *at = pattern_word(seed, index);
    return true;
  });
}

__global__ void poison_box_kernel(GridBox box) {
  each_word(box, [](std::uint64_t, std::uint64_t* at, std::uint64_t) {
    *at = poison_word;
    return true;
  });
}

__global__ void compare_box_kernel(GridBox box, std::uint64_t seed, vendor::Counter* first_wrong) {
  each_word(box, [&](std::uint64_t number, const std::uint64_t* at, std::uint64_t index) {
    if (*at == pattern_word(seed, index)) return true;
    atomicMin(first_wrong, static_cast<vendor::Counter>(number));
    return false;
  });
}

unsigned blocks_of(std::uint64_t items, unsigned threads) {
  return static_cast<unsigned>((items + threads - 1) / threads);
}
unsigned blocks_for(const KernelPlace& place, const GridBox& box) {
  const std::uint64_t all = (box.rows * box.columns + check_threads - 1) / check_threads;
  return static_cast<unsigned>(std::clamp<std::uint64_t>(all, 1, place.blocks));
}

}  // namespace

void launch_row_copy(gpuStream_t stream, const PackedRows& rows) {
  if (rows.words == 0 || rows.rows == 0) return;
  if (rows.rows == 1) {
    copy_words_kernel<<<blocks_of(rows.words, copy_threads), copy_threads, 0, stream>>>(rows);
  } else {
    copy_rows_kernel<<<blocks_of(rows.rows, copy_threads), copy_threads, 0, stream>>>(rows);
  }
  LINKSCOPE_CHECK(gpuGetLastError());
}

void launch_box_fill(const KernelPlace& place, const GridBox& box, std::uint64_t seed) {
  fill_box_kernel<<<blocks_for(place, box), check_threads, 0, place.stream>>>(box, seed);
  LINKSCOPE_CHECK(gpuGetLastError());
}

void launch_box_poison(const KernelPlace& place, const GridBox& box) {
  poison_box_kernel<<<blocks_for(place, box), check_threads, 0, place.stream>>>(box);
  LINKSCOPE_CHECK(gpuGetLastError());
}

void launch_box_compare(const KernelPlace& place, const GridBox& box, std::uint64_t seed,
                        std::uint64_t* first_wrong) {
  compare_box_kernel<<<blocks_for(place, box), check_threads, 0, place.stream>>>(
      box, seed, reinterpret_cast<vendor::Counter*>(first_wrong));
  LINKSCOPE_CHECK(gpuGetLastError());
}

std::vector<const void*> grid_kernels() {
  return {reinterpret_cast<const void*>(&copy_rows_kernel), reinterpret_cast<const void*>(&copy_words_kernel),
          reinterpret_cast<const void*>(&fill_box_kernel), reinterpret_cast<const void*>(&poison_box_kernel),
          reinterpret_cast<const void*>(&compare_box_kernel)};
}

}  // namespace linkscope::gpu
