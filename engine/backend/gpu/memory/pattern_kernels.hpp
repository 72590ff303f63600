// Filling, poisoning and checking memory with a GPU's kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "backend/gpu/context.hpp"
#include "base/units.hpp"
#include "model/elements.hpp"

namespace linkscope::gpu {

// Kernels of `device` do it, which can reach `address`, and have ended on return.

/// As Buffer::fill. Any alignment and length.
void fill_pattern(GpuContext& context, int device, std::byte* address, Bytes length, std::uint64_t seed);
/// As Buffer::poison.
void fill_poison(GpuContext& context, int device, std::byte* address, Bytes length);
/// As Buffer::compare: the smallest offset that differs.
std::optional<Bytes> compare_pattern(GpuContext& context, int device, const std::byte* address, Bytes length,
                                     std::uint64_t seed);
/// As Buffer::fill_elements. Throws Error{bad_input} where address or length are no whole elements.
void fill_elements(GpuContext& context, int device, std::byte* address, Bytes length,
                   const Elements& elements, std::uint64_t seed);
/// As Buffer::compare_elements: the smallest offset that differs.
std::optional<Bytes> compare_elements(GpuContext& context, int device, const std::byte* address, Bytes length,
                                      const Elements& elements, std::uint64_t seed);

}  // namespace linkscope::gpu
