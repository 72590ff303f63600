// Pattern kernels: grid-stride over 16-byte vectors where the address allows, over bytes where it does not.
#include "backend/gpu/memory/pattern_kernels.hpp"

#include <algorithm>

#include "backend/gpu/kernel/sweep_kernels.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "model/pattern.hpp"

namespace linkscope::gpu {
namespace {

constexpr unsigned threads_per_block = 512;
constexpr unsigned blocks_per_multiprocessor = 4;

__device__ std::uint8_t pattern_byte(std::uint64_t seed, Bytes offset) {
  return static_cast<std::uint8_t>(pattern_word(seed, offset / 8) >> (offset % 8 * 8));
}

__global__ void fill_kernel(std::byte* address, Bytes length, Bytes vectors, std::uint64_t seed) {
  auto* aligned = reinterpret_cast<Vector*>(address);
  for (std::uint64_t i = thread_index(); i < vectors; i += thread_count()) {
    aligned[i] = vector_of(pattern_word(seed, 2 * i), pattern_word(seed, 2 * i + 1));
  }
  auto* bytes = reinterpret_cast<std::uint8_t*>(address);
  for (Bytes i = vectors * vector_bytes + thread_index(); i < length; i += thread_count()) {
    bytes[i] = pattern_byte(seed, i);
  }
}

/// A thread meets its offsets in rising order, so it can leave at its first difference.
__global__ void compare_kernel(const std::byte* address, Bytes length, Bytes vectors, std::uint64_t seed,
                               Counter* first_bad) {
  const auto* aligned = reinterpret_cast<const Vector*>(address);
  for (std::uint64_t i = thread_index(); i < vectors; i += thread_count()) {
    const Bytes within =
        first_difference(aligned[i], pattern_word(seed, 2 * i), pattern_word(seed, 2 * i + 1));
    if (within == vector_bytes) continue;
    atomicMin(first_bad, static_cast<Counter>(i * vector_bytes + within));
    return;
  }
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(address);
  for (Bytes i = vectors * vector_bytes + thread_index(); i < length; i += thread_count()) {
    if (bytes[i] == pattern_byte(seed, i)) continue;
    atomicMin(first_bad, static_cast<Counter>(i));
    return;
  }
}

Bytes vectors_in(const std::byte* address, Bytes length) {
  return reinterpret_cast<std::uintptr_t>(address) % vector_bytes == 0 ? length / vector_bytes : 0;
}

unsigned blocks_for(const GpuContext& context, int device, Bytes length) {
  const auto most = static_cast<Bytes>(context.device(device).multiprocessors) * blocks_per_multiprocessor;
  return static_cast<unsigned>(std::clamp<Bytes>(length / vector_bytes / threads_per_block, 1, most));
}

}  // namespace

void fill_pattern(GpuContext& context, int device, std::byte* address, Bytes length, std::uint64_t seed) {
  const auto turn = context.service_turn();
  context.use(device);  // for threads that have used none yet
  const gpuStream_t stream = context.service_stream(device);
  fill_kernel<<<blocks_for(context, device, length), threads_per_block, 0, stream>>>(
      address, length, vectors_in(address, length), seed);
  LINKSCOPE_CHECK(gpuGetLastError());
  LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
}

void fill_poison(GpuContext& context, int device, std::byte* address, Bytes length) {
  const auto turn = context.service_turn();
  context.use(device);  // for threads that have used none yet
  const gpuStream_t stream = context.service_stream(device);
  LINKSCOPE_CHECK(gpuMemsetAsync(address, poison_byte, length, stream));
  LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
}

std::optional<Bytes> compare_pattern(GpuContext& context, int device, const std::byte* address, Bytes length,
                                     std::uint64_t seed) {
  const auto turn = context.service_turn();
  context.use(device);  // for threads that have used none yet
  const gpuStream_t stream = context.service_stream(device);
  std::uint64_t* first_bad = context.scratch_word(device);
  LINKSCOPE_CHECK(gpuMemsetAsync(first_bad, 0xFF, sizeof *first_bad, stream));
  compare_kernel<<<blocks_for(context, device, length), threads_per_block, 0, stream>>>(
      address, length, vectors_in(address, length), seed, reinterpret_cast<Counter*>(first_bad));
  LINKSCOPE_CHECK(gpuGetLastError());
  const std::uint64_t found = read_word(context, device, first_bad);
  return found < length ? std::optional<Bytes>(found) : std::nullopt;
}

std::uint64_t read_word(GpuContext& context, int device, const std::uint64_t* address) {
  const gpuStream_t stream = context.service_stream(device);
  std::uint64_t word = 0;
  LINKSCOPE_CHECK(gpuMemcpyAsync(&word, address, sizeof word, gpuMemcpyDefault, stream));
  LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
  return word;
}

}  // namespace linkscope::gpu
