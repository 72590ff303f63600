// Kernels of timed calls: launches that are counted, first touches, and work of a given length.
#include "backend/gpu/call/call_transfer.hpp"

#include <algorithm>
#include <cstring>

#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {
namespace {

using vendor::Counter;

/// One kernel's argument.
template <Bytes bytes>
struct Argument {
  char content[bytes];
};

// No argument can carry a counter's address into a kernel that takes none.
__device__ Counter shared_count;

__global__ void count_alone() { atomicAdd(&shared_count, Counter{1}); }

template <Bytes bytes>
__global__ void count(Argument<bytes> argument) {
  if constexpr (bytes < sizeof(Counter*)) {
    static_cast<void>(argument);  // it is passed all the same
    atomicAdd(&shared_count, Counter{1});
  } else {
    Counter* counter;
    memcpy(&counter, argument.content, sizeof counter);
    atomicAdd(counter, Counter{1});
  }
}

__global__ void copy_count(std::uint64_t* to) { *to = shared_count; }

__global__ void touch(std::byte* block, Bytes bytes, Bytes vectors, std::uint32_t word) {
  const Bytes threads = gridDim.x * static_cast<Bytes>(blockDim.x);
  const Bytes thread = blockIdx.x * static_cast<Bytes>(blockDim.x) + threadIdx.x;
  auto* aligned = reinterpret_cast<vendor::Vector*>(block);
  for (Bytes i = thread; i < vectors; i += threads) aligned[i] = {word, word, word, word};
  auto* single = reinterpret_cast<std::uint8_t*>(block);
  for (Bytes i = vectors * sizeof(vendor::Vector) + thread; i < bytes; i += threads)
    single[i] = static_cast<std::uint8_t>(word);
}

__global__ void work(std::uint64_t ticks) {
  const std::uint64_t begin = vendor::device_ticks();
  while (vendor::device_ticks() - begin < ticks) {
  }
}

struct Sized {
  Bytes bytes;
  const void* kernel;
};

template <Bytes... bytes>
std::vector<Sized> all_sizes() {
  return {{0, reinterpret_cast<const void*>(&count_alone)},
          {bytes, reinterpret_cast<const void*>(&count<bytes>)}...};
}

std::vector<Sized> sized_kernels() {
  return all_sizes<1, 4, 8, 16, 32, 64, 96, 128, 256, 512, 1024, 2048, 4096>();
}

}  // namespace

std::vector<Bytes> argument_sizes() {
  std::vector<Bytes> sizes;
  for (const Sized& sized : sized_kernels()) sizes.push_back(sized.bytes);
  return sizes;
}

const void* counting_kernel(Bytes argument_bytes) {
  for (const Sized& sized : sized_kernels()) {
    if (sized.bytes == argument_bytes) return sized.kernel;
  }
  return nullptr;
}

void copy_shared_count(gpuStream_t stream, std::uint64_t* to) {
  copy_count<<<1, 1, 0, stream>>>(to);
  LINKSCOPE_CHECK(gpuGetLastError());
}

void touch_block(gpuStream_t stream, int multiprocessors, std::byte* block, Bytes bytes, int value) {
  constexpr Bytes threads = 512;
  const Bytes vectors = reinterpret_cast<std::uintptr_t>(block) % sizeof(vendor::Vector) == 0
                            ? bytes / sizeof(vendor::Vector)
                            : 0;
  const auto blocks =
      static_cast<unsigned>(std::clamp<Bytes>(vectors / threads, 1, 4 * static_cast<Bytes>(multiprocessors)));
  const auto word = static_cast<std::uint32_t>(value) * 0x01010101U;
  touch<<<blocks, threads, 0, stream>>>(block, bytes, vectors, word);
  LINKSCOPE_CHECK(gpuGetLastError());
}

gpuError_t launch_work(gpuStream_t stream, Seconds duration) noexcept {
  work<<<1, 1, 0, stream>>>(static_cast<std::uint64_t>(duration * vendor::ticks_per_second));
  return gpuGetLastError();
}

std::vector<const void*> call_kernels() {
  return {reinterpret_cast<const void*>(&copy_count), reinterpret_cast<const void*>(&touch),
          reinterpret_cast<const void*>(&work)};
}

}  // namespace linkscope::gpu
