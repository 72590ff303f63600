// Filling and checking memory with the numbers that collectives reduce, by a GPU's kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "backend/gpu/context.hpp"
#include "base/units.hpp"
#include "model/elements.hpp"

namespace linkscope::gpu {

/// As Buffer::fill_elements, by kernels of `device`, which can reach `address`. Has ended on return. Throws
/// Error{bad_input} where address or length are no whole elements.
void fill_elements(GpuContext& context, int device, std::byte* address, Bytes length,
                   const Elements& elements, std::uint64_t seed);
/// As Buffer::compare_elements: the smallest offset that differs.
std::optional<Bytes> compare_elements(GpuContext& context, int device, const std::byte* address, Bytes length,
                                      const Elements& elements, std::uint64_t seed);

}  // namespace linkscope::gpu
