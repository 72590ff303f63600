// Peer kernels: blocks that meet, load, sum, store and meet again.
#include "collective/kernels/peer_kernels.hpp"

#include "backend/gpu/vendor.hpp"
#include "collective/kernels/numbers.hpp"
#include "collective/kernels/peer_barrier.hpp"
#include "collective/kernels/self_check.hpp"
#include "collective/kernels/vectors.hpp"
#include "model/elements.hpp"

namespace linkscope::direct {
namespace {

constexpr int unroll = static_cast<int>(peer_thread_bytes / vector_bytes);

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

__device__ Bytes tile_bytes() { return blockDim.x * peer_thread_bytes; }

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
    move_vectors<combine, Number, unroll>(work, job, own, apart);
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

/// Calls `what` with the byte offset, within a piece and within the buffer, of each of this thread's elements of
/// `pieces` pieces: those of the tiles that are this block's in every member.
template <class What>
__device__ void each_checked(const PeerSelfCheck& self_check, int pieces, const What& what) {
  for (int piece = 0; piece < pieces; ++piece) {
    const Bytes begin = self_check.step * static_cast<Bytes>(piece);
    const Bytes rest = begin < self_check.total ? self_check.total - begin : 0;
    const Bytes length = rest < self_check.piece_bytes ? rest : self_check.piece_bytes;
    for (Bytes tile = blockIdx.x; tile * tile_bytes() < length; tile += gridDim.x) {
      for (Bytes i = threadIdx.x * checked_element_bytes; i < tile_bytes();
           i += blockDim.x * checked_element_bytes) {
        const Bytes at = tile * tile_bytes() + i;
        if (at < length) what(piece, at, begin + at);
      }
    }
  }
}

/// Writes the numbers of this call (see PeerSelfCheck).
__device__ void write_checked(const PeerWork& work, std::byte* source, std::uint64_t call) {
  each_checked(work.self_check, work.self_check.source_pieces, [&](int /*piece*/, Bytes /*at*/, Bytes place) {
    *reinterpret_cast<int*>(source + place) =
        input_element(call, work.peers.me, place / checked_element_bytes);
  });
}

template <Combine combine>
__device__ void check_received(const PeerWork& work, const std::byte* destination, Workspace& own,
                               std::uint64_t call) {
  const PeerSelfCheck& self_check = work.self_check;
  CheckCounters tally;
  each_checked(self_check, self_check.destination_pieces, [&](int piece, Bytes at, Bytes place) {
    const std::uint64_t index =
        (self_check.index_base + self_check.index_step * static_cast<Bytes>(piece) + at) /
        checked_element_bytes;
    const int expected = combine == Combine::sum
                             ? summed_element(call, work.peers.members, index)
                             : input_element(call, self_check.origin < 0 ? piece : self_check.origin, index);
    tally.look(call, *reinterpret_cast<const int*>(destination + place), expected);
  });
  tally.tell(own.notices);
}

/// Barriers are numbered through all launches, two to a call. At the first all inputs are there and nobody uses its
/// output any more; at the second everybody's output is there and nobody reads inputs any more. A barrier needs the
/// first alone.
template <Combine combine, class Number, SelfCheck self_check>
__global__ void __launch_bounds__(peer_threads, 1)
    work_on_peers(LINKSCOPE_IN_PLACE PeerWork work, LaunchArguments launch) {
  programmatic_prologue(work, launch.dependent);
  Workspace& own = workspace_of(work.peers, work.peers.me);
  const std::uint64_t made = own.calls[blockIdx.x];
  PeerWait waiting(work.peers, work.wait_limit, 0);
  for (std::uint64_t call = made + 1; call <= made + launch.calls; ++call) {
    if (work.wait_limit.jitter != 0) inject_jitter(work.wait_limit.jitter, work.peers.me, call, threadIdx.x);
    if constexpr (self_check == SelfCheck::on) write_checked(work, work.self_check.source, call);
    if (!peer_barrier(work.peers, waiting, 2 * call - 1)) break;
    if (work.is_barrier) continue;
    move_all<combine, Number>(work);
    if (!peer_barrier(work.peers, waiting, 2 * call)) break;
    if constexpr (self_check == SelfCheck::on)
      check_received<combine>(work, work.self_check.destination, own, call);
  }
  if (threadIdx.x == 0) own.calls[blockIdx.x] = made + launch.calls;  // all have met since they read it
}

template <Combine combine, class Number>
const void* alone_or_checked(SelfCheck self_check) {
  if constexpr (Number::type == ElementType::int32) {
    if (self_check == SelfCheck::on)
      return reinterpret_cast<const void*>(&work_on_peers<combine, Number, SelfCheck::on>);
  }
  return reinterpret_cast<const void*>(&work_on_peers<combine, Number, SelfCheck::off>);
}

}  // namespace

const void* peer_kernel(Combine combine, ElementType type, SelfCheck self_check) {
  if (combine == Combine::copy) {
    return element_bytes(type) == sizeof(std::uint32_t)
               ? alone_or_checked<Combine::copy, Int32>(self_check)
               : alone_or_checked<Combine::copy, Float16>(self_check);
  }
  return by_number(type,
                   [&](auto number) { return alone_or_checked<Combine::sum, decltype(number)>(self_check); });
}

}  // namespace linkscope::direct
