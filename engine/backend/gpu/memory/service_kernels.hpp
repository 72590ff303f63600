// The parts of kernels that fill and check memory. Included by .cu files only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "backend/gpu/context.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "model/pattern.hpp"

namespace linkscope::gpu {

using vendor::Counter;
using vendor::Vector;
using vendor::vector_of;

static_assert(sizeof(Vector) == vector_bytes);

/// A check says this of an item that is as it should be.
inline constexpr Bytes no_bad = ~Bytes{0};

__device__ inline std::uint64_t thread_index() {
  return blockIdx.x * static_cast<std::uint64_t>(blockDim.x) + threadIdx.x;
}
__device__ inline std::uint64_t thread_count() { return gridDim.x * static_cast<std::uint64_t>(blockDim.x); }

/// First byte at which two words differ; their size where they do not.
__device__ inline Bytes first_difference(std::uint64_t found, std::uint64_t expected) {
  const std::uint64_t bits = found ^ expected;
  return bits == 0 ? sizeof bits : static_cast<Bytes>(__ffsll(static_cast<long long>(bits)) - 1) / 8;
}
/// Does the same for a vector and the two words that it should hold.
__device__ inline Bytes first_difference(const Vector& found, std::uint64_t low, std::uint64_t high) {
  const Bytes in_low = first_difference(low_word(found), low);
  return in_low < sizeof low ? in_low : sizeof low + first_difference(high_word(found), high);
}

/// The pattern's byte at `offset` of a buffer.
__device__ inline std::uint8_t pattern_byte(std::uint64_t seed, Bytes offset) {
  return static_cast<std::uint8_t>(pattern_word(seed, offset / word_bytes) >> (offset % word_bytes * 8));
}

/// Adds the sums of a block's threads to `total`, once.
__device__ inline void add_block(Counter sum, Counter* total) {
  __shared__ Counter block_sum;
  if (threadIdx.x == 0) block_sum = 0;
  __syncthreads();
  atomicAdd(&block_sum, sum);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(total, block_sum);
}

template <class Visit>
__global__ void visit_kernel(std::uint64_t items, Visit visit) {
  for (std::uint64_t i = thread_index(); i < items; i += thread_count()) visit(i);
}

/// A thread meets its items in rising order, so it can leave at its first bad one.
template <class Check>
__global__ void first_bad_kernel(std::uint64_t items, Check check, Counter* first_bad) {
  for (std::uint64_t i = thread_index(); i < items; i += thread_count()) {
    const Bytes bad = check(i);
    if (bad == no_bad) continue;
    atomicMin(first_bad, static_cast<Counter>(bad));
    return;
  }
}

template <class Term>
__global__ void sum_kernel(std::uint64_t items, Term term, Counter* total) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = thread_index(); i < items; i += thread_count()) sum += term(i);
  add_block(sum, total);
}

inline constexpr unsigned service_threads = 512;

/// Blocks of a service kernel over `items`: no more than a few on each multiprocessor.
inline unsigned service_blocks(const GpuContext& context, int device, std::uint64_t items) {
  const auto most = 4 * static_cast<std::uint64_t>(context.device(device).multiprocessors);
  return static_cast<unsigned>(std::clamp<std::uint64_t>(items / service_threads, 1, most));
}

/// Calls visit(i) for every item i of `items` on `device`. Has ended on return.
template <class Visit>
void visit_all(GpuContext& context, int device, std::uint64_t items, const Visit& visit) {
  const ServiceTurn turn = context.service_turn(device);
  visit_kernel<<<service_blocks(context, device, items), service_threads, 0, turn.stream()>>>(items, visit);
  LINKSCOPE_CHECK(gpuGetLastError());
  turn.wait();
}

/// The smallest offset that check(i) gives for any item i of `items`; nothing where all give no_bad. Offsets rise with
/// the items.
template <class Check>
std::optional<Bytes> first_bad(GpuContext& context, int device, std::uint64_t items, const Check& check) {
  const ServiceTurn turn = context.service_turn(device);
  LINKSCOPE_CHECK(gpuMemsetAsync(turn.word(), 0xFF, sizeof(Counter), turn.stream()));
  first_bad_kernel<<<service_blocks(context, device, items), service_threads, 0, turn.stream()>>>(
      items, check, reinterpret_cast<Counter*>(turn.word()));
  LINKSCOPE_CHECK(gpuGetLastError());
  const Bytes found = turn.read_word();
  return found == no_bad ? std::nullopt : std::optional<Bytes>(found);
}

/// The sum of term(i) over all items i of `items`, modulo 2^64.
template <class Term>
std::uint64_t sum_of(GpuContext& context, int device, std::uint64_t items, const Term& term) {
  const ServiceTurn turn = context.service_turn(device);
  LINKSCOPE_CHECK(gpuMemsetAsync(turn.word(), 0, sizeof(Counter), turn.stream()));
  sum_kernel<<<service_blocks(context, device, items), service_threads, 0, turn.stream()>>>(
      items, term, reinterpret_cast<Counter*>(turn.word()));
  LINKSCOPE_CHECK(gpuGetLastError());
  return turn.read_word();
}

}  // namespace linkscope::gpu
