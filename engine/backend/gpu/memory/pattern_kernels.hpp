// Filling, poisoning and checking memory with a GPU's kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "backend/gpu/context.hpp"
#include "base/units.hpp"

namespace linkscope::gpu {

/// As Buffer::fill, by kernels of `device`, which can reach `address`. Any alignment and length. Has ended on return.
void fill_pattern(GpuContext& context, int device, std::byte* address, Bytes length, std::uint64_t seed);
/// As Buffer::poison.
void fill_poison(GpuContext& context, int device, std::byte* address, Bytes length);
/// As Buffer::compare: the smallest offset that differs.
std::optional<Bytes> compare_pattern(GpuContext& context, int device, const std::byte* address, Bytes length,
                                     std::uint64_t seed);
/// The word that stands at `address`, in memory of any kind that the device can reach.
std::uint64_t read_word(GpuContext& context, int device, const std::uint64_t* address);

}  // namespace linkscope::gpu
