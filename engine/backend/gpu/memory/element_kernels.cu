// Element kernels: grid-stride, an element per thread, whose bits are worked out where they are needed.
#include "backend/gpu/memory/element_kernels.hpp"

#include <algorithm>

#include "backend/gpu/kernel/sweep_kernels.hpp"
#include "backend/gpu/memory/pattern_kernels.hpp"
#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {
namespace {

constexpr unsigned threads_per_block = 512;
constexpr unsigned blocks_per_multiprocessor = 4;

/// `Word`: the unsigned whole number as wide as an element.
template <class Word>
__device__ Word word_at(const Elements& elements, std::uint64_t seed, std::uint64_t index) {
  return static_cast<Word>(element_bits(elements.type, element_at(elements, seed, index)));
}

template <class Word>
__global__ void fill_kernel(Word* address, std::uint64_t count, Elements elements, std::uint64_t seed) {
  for (std::uint64_t i = thread_index(); i < count; i += thread_count()) {
    address[i] = word_at<Word>(elements, seed, i);
  }
}

/// A thread meets its elements in rising order, so it can leave at its first difference.
template <class Word>
__global__ void compare_kernel(const Word* address, std::uint64_t count, Elements elements,
                               std::uint64_t seed, Counter* first_bad) {
  for (std::uint64_t i = thread_index(); i < count; i += thread_count()) {
    const auto differing = static_cast<Word>(address[i] ^ word_at<Word>(elements, seed, i));
    if (differing == 0) continue;
    const int first_bit = __ffs(static_cast<int>(differing)) - 1;
    atomicMin(first_bad, static_cast<Counter>(i * sizeof(Word) + static_cast<unsigned>(first_bit) / 8U));
    return;
  }
}

unsigned blocks_for(const GpuContext& context, int device, std::uint64_t count) {
  const auto most =
      static_cast<std::uint64_t>(context.device(device).multiprocessors) * blocks_per_multiprocessor;
  return static_cast<unsigned>(std::clamp<std::uint64_t>(count / threads_per_block, 1, most));
}

void require_whole_elements(const std::byte* address, Bytes length, unsigned width) {
  if (reinterpret_cast<std::uintptr_t>(address) % width == 0 && length % width == 0) return;
  throw Error(Fault::bad_input, "elements of " + std::to_string(width) +
                                    " B asked for at an address or over " +
                                    "a length that is not a multiple of that");
}

template <class Word>
void fill(GpuContext& context, int device, std::byte* address, Bytes length, const Elements& elements,
          std::uint64_t seed) {
  const std::uint64_t count = length / sizeof(Word);
  const gpuStream_t stream = context.service_stream(device);
  fill_kernel<<<blocks_for(context, device, count), threads_per_block, 0, stream>>>(
      reinterpret_cast<Word*>(address), count, elements, seed);
  LINKSCOPE_CHECK(gpuGetLastError());
  LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
}

template <class Word>
std::optional<Bytes> compare(GpuContext& context, int device, const std::byte* address, Bytes length,
                             const Elements& elements, std::uint64_t seed) {
  const std::uint64_t count = length / sizeof(Word);
  const gpuStream_t stream = context.service_stream(device);
  std::uint64_t* first_bad = context.scratch_word(device);
  LINKSCOPE_CHECK(gpuMemsetAsync(first_bad, 0xFF, sizeof *first_bad, stream));
  compare_kernel<<<blocks_for(context, device, count), threads_per_block, 0, stream>>>(
      reinterpret_cast<const Word*>(address), count, elements, seed, reinterpret_cast<Counter*>(first_bad));
  LINKSCOPE_CHECK(gpuGetLastError());
  const std::uint64_t found = read_word(context, device, first_bad);
  return found < length ? std::optional<Bytes>(found) : std::nullopt;
}

}  // namespace

void fill_elements(GpuContext& context, int device, std::byte* address, Bytes length,
                   const Elements& elements, std::uint64_t seed) {
  const unsigned width = element_bytes(elements.type);
  require_whole_elements(address, length, width);
  const auto fill_words = width == sizeof(std::uint16_t) ? fill<std::uint16_t> : fill<std::uint32_t>;
  fill_words(context, device, address, length, elements, seed);
}

std::optional<Bytes> compare_elements(GpuContext& context, int device, const std::byte* address, Bytes length,
                                      const Elements& elements, std::uint64_t seed) {
  const unsigned width = element_bytes(elements.type);
  require_whole_elements(address, length, width);
  const auto compare_words = width == sizeof(std::uint16_t) ? compare<std::uint16_t> : compare<std::uint32_t>;
  return compare_words(context, device, address, length, elements, seed);
}

}  // namespace linkscope::gpu
