// Copying and checking regions with a GPU's kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "backend/gpu/context.hpp"
#include "backend/gpu/kernel/sweep_transfer.hpp"
#include "base/units.hpp"
#include "model/region.hpp"

namespace linkscope::gpu {

/// The copy's registers are kept so few that a block may have so many threads.
inline constexpr unsigned most_region_threads = 1024;

/// Launches the copy of `sweep`'s slots, round and round, as one kernel. `from` and `to` have equal widths, rows and
/// planes; the sweep's own bytes and vectors are not looked at. Threads move as many bytes at a time as every row's
/// start and width allow, 16 at most; narrow rows share a warp.
void launch_region_copy(gpuStream_t stream, const Sweep& sweep, const Region& from, const Region& to,
                        const Grid& grid);
/// Every kernel that launch_region_copy can launch. They are loaded before a gate closes.
std::vector<const void*> region_copy_kernels();

/// The smallest offset in `window` at which a byte of the region is not the pattern of `seed`, or one between them is not
/// poison. The window holds the bytes [first, first + length) of an allocation with `region` at its start. `first` is a
/// multiple of 8 and `window` aligned to 8; `device` reaches it.
std::optional<Bytes> compare_region(GpuContext& context, int device, const std::byte* window, Bytes first,
                                    Bytes length, const Region& region, std::uint64_t seed);

}  // namespace linkscope::gpu
