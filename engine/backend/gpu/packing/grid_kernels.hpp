// Copying, filling and checking boxes of a grid with a GPU's kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/gpu/vendor.hpp"
#include "model/packer.hpp"

namespace linkscope::gpu {

/// The stream that a kernel goes to, and how many blocks make use of all of its GPU.
struct KernelPlace {
  gpuStream_t stream = nullptr;
  unsigned blocks = 1;
};

/// One kernel, as applications write it: blocks of 256 threads, of which each copies a row; a word where there is one
/// row. Addresses and pitches are multiples of 8 bytes.
void launch_row_copy(gpuStream_t stream, const PackedRows& rows);
void launch_box_fill(const KernelPlace& place, const GridBox& box, std::uint64_t seed);
void launch_box_poison(const KernelPlace& place, const GridBox& box);
/// Lowers `first_wrong`, a word that the GPU reaches, to the number of the first word that differs, row by row.
void launch_box_compare(const KernelPlace& place, const GridBox& box, std::uint64_t seed,
                        std::uint64_t* first_wrong);
/// Every kernel that these launch, to be loaded beforehand.
[[nodiscard]] std::vector<const void*> grid_kernels();

}  // namespace linkscope::gpu
