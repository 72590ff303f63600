// What STREAM's arrays hold, and how they are filled where they are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.hpp"
#include "model/buffer.hpp"
#include "model/pattern.hpp"

namespace linkscope::gpu {

class GpuContext;

/// What scale and triad multiply by.
inline constexpr double stream_scalar = 3;

/// The double at `index` of a buffer filled in round `seed`: a whole number below 2^21, so that sums and small
/// multiples are exact.
constexpr double stream_value(std::uint64_t seed, std::uint64_t index) {
  return static_cast<double>(pattern_word(seed, index) >> 43U);
}

/// Fills the first `length` bytes of `buffer` by the CPUs of the node that holds it.
void fill_on_host(GpuContext& context, const Buffer& buffer, Bytes length, std::uint64_t seed);

}  // namespace linkscope::gpu
