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

/// Does what Buffer::fill does, for any alignment and length.
void fill_pattern(GpuContext& context, int device, std::byte* address, Bytes length, std::uint64_t seed);
/// Does what Buffer::poison does.
void fill_poison(GpuContext& context, int device, std::byte* address, Bytes length);
/// Does what Buffer::compare does: gives the smallest offset that differs.
std::optional<Bytes> compare_pattern(GpuContext& context, int device, const std::byte* address, Bytes length,
                                     std::uint64_t seed);
/// Does what Buffer::fill_elements does. Throws Error{bad_input} where address or length are no whole elements.
void fill_elements(GpuContext& context, int device, std::byte* address, Bytes length,
                   const Elements& elements, std::uint64_t seed);
/// Does what Buffer::compare_elements does: gives the smallest offset that differs.
std::optional<Bytes> compare_elements(GpuContext& context, int device, const std::byte* address, Bytes length,
                                      const Elements& elements, std::uint64_t seed);

}  // namespace linkscope::gpu
