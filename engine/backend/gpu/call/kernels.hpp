// Kernels that calls launch: one that counts itself and takes any number of arguments, one that touches memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/gpu/vendor.hpp"
#include "base/units.hpp"

namespace linkscope::gpu {

/// Bytes of arguments that a counting kernel exists for, ascending.
[[nodiscard]] std::vector<Bytes> argument_sizes();
/// A kernel that takes one argument of so many bytes, for a launch of one thread; null where there is none. It adds one
/// to the 64-bit word whose address stands in the argument's first 8 bytes; where the argument is shorter, to a word of
/// the device that all such kernels share.
[[nodiscard]] const void* counting_kernel(Bytes argument_bytes);
/// Enqueues a copy of that shared word to `to`, in the device's memory.
void copy_shared_count(gpuStream_t stream, std::uint64_t* to);
/// Enqueues stores of byte `value` all over a block.
void touch_block(gpuStream_t stream, int multiprocessors, std::byte* block, Bytes bytes, int value);
/// Launches a kernel that keeps one thread busy for about `duration`.
[[nodiscard]] gpuError_t launch_work(gpuStream_t stream, Seconds duration) noexcept;
/// What copy_shared_count(), touch_block() and launch_work() launch, to be loaded before.
[[nodiscard]] std::vector<const void*> call_kernels();

}  // namespace linkscope::gpu
