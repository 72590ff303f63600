// work_on_peers(): blocks that meet, load, sum, store and meet again.
#pragma once

#include <cstdint>

#include "backend/gpu/vendor.hpp"
#include "collective/kernels/kernels.hpp"
#include "collective/kernels/numbers.hpp"
#include "collective/kernels/peer_barrier.hpp"
#include "collective/kernels/vectors.hpp"

namespace linkscope::direct {

inline constexpr int peer_unroll = static_cast<int>(peer_thread_bytes / vector_bytes);

/// Moves `vectors` vectors of one thread.
template <Combine combine, class Number, int vectors>
__device__ void move_vectors(const PeerWork& work, int job, Bytes at, Bytes apart) {
  Vector results[vectors];
  if constexpr (combine == Combine::copy) {
    load_vectors(work.sources[job], at, apart, results);
  } else {
    sum_vectors<Number>([&](int s) { return work.sources[s]; }, work.source_count, at, apart, results);
  }
  const int first = work.jobs > 1 ? job : 0;
  const int count = work.jobs > 1 ? 1 : work.destination_count;
  for (int d = first; d < first + count; ++d) store_vectors(work.destinations[d], at, apart, results);
}

/// Moves [begin, end) element by element, where there is no whole vector.
template <Combine combine, class Number>
__device__ void move_elements(const PeerWork& work, int job, Bytes begin, Bytes end) {
  using Stored = typename Number::Stored;
  for (Bytes at = begin + threadIdx.x * sizeof(Stored); at < end; at += blockDim.x * sizeof(Stored)) {
    Stored result{};
    if constexpr (combine == Combine::copy) {
      result = *reinterpret_cast<const Stored*>(work.sources[job] + at);
    } else {
      result = sum_element<Number>([&](int s) { return work.sources[s]; }, work.source_count, at);
    }
    const int first = work.jobs > 1 ? job : 0;
    const int count = work.jobs > 1 ? 1 : work.destination_count;
    for (int d = first; d < first + count; ++d)
      *reinterpret_cast<Stored*>(work.destinations[d] + at) = result;
  }
}

__device__ inline Bytes tile_bytes() { return blockDim.x * peer_thread_bytes; }

template <Combine combine, class Number>
__device__ void move_tile(const PeerWork& work, int job, Bytes tile) {
  const Bytes begin = tile * tile_bytes();
  const Bytes end = begin + tile_bytes() < work.bytes ? begin + tile_bytes() : work.bytes;
  if (work.layout == Layout::elements) {
    move_elements<combine, Number>(work, job, begin, end);
    return;
  }
  const Bytes apart = blockDim.x * vector_bytes;
  const Bytes own = begin + threadIdx.x * vector_bytes;
  if (end - begin == tile_bytes()) {
    move_vectors<combine, Number, peer_unroll>(work, job, own, apart);
    return;
  }
  const Bytes whole = end / vector_bytes * vector_bytes;
  for (Bytes at = own; at < whole; at += apart) move_vectors<combine, Number, 1>(work, job, at, 0);
  move_elements<combine, Number>(work, job, whole, end);
}

/// This block's tiles of every job: tile t belongs to block t % blocks in every member, whatever it does there. Jobs
/// take turns, so that all links are used at any time.
template <Combine combine, class Number>
__device__ void move_all(const PeerWork& work) {
  if (work.jobs == 0) return;
  const Bytes tiles = (work.bytes + tile_bytes() - 1) / tile_bytes();
  for (Bytes tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    for (int job = 0; job < work.jobs; ++job) move_tile<combine, Number>(work, job, tile);
  }
}

/// Barriers are numbered through all launches, two to a call. At the first all inputs are there and nobody uses its
/// output any more; at the second everybody's output is there and nobody reads inputs any more. A barrier needs the
/// first alone.
template <Combine combine, class Number, class Hooks>
__global__ void __launch_bounds__(peer_threads, 1)
    work_on_peers(LINKSCOPE_IN_PLACE PeerWork work, LaunchArguments launch) {
  programmatic_prologue(work, launch.dependent);
  Workspace& own = workspace_of(work.peers, work.peers.me);
  const std::uint64_t made = own.calls[blockIdx.x];
  PeerWait waiting(work.peers, work.wait_limit, 0);
  for (std::uint64_t call = made + 1; call <= made + launch.calls; ++call) {
    if (work.wait_limit.jitter != 0) inject_jitter(work.wait_limit.jitter, work.peers.me, call, threadIdx.x);
    Hooks::begin(work, call);
    if (!peer_barrier(work.peers, waiting, 2 * call - 1)) break;
    if (work.is_barrier) continue;
    move_all<combine, Number>(work);
    if (!peer_barrier(work.peers, waiting, 2 * call)) break;
    Hooks::end(work, call);
  }
  if (threadIdx.x == 0) own.calls[blockIdx.x] = made + launch.calls;  // all have met since they read it
}

}  // namespace linkscope::direct
