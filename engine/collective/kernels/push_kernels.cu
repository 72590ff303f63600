// Push kernels: a GPU's blocks as workers of the push protocol.
#include "collective/kernels/push_kernels.hpp"

#include "backend/gpu/vendor.hpp"
#include "collective/kernels/numbers.hpp"
#include "collective/kernels/peer_barrier.hpp"
#include "collective/kernels/self_check.hpp"
#include "collective/kernels/vectors.hpp"
#include "collective/kernels/worker_kernel.hpp"

namespace linkscope::direct {
namespace {

// Vectors in flight per thread, of each source.
constexpr int copy_unroll = 4;
constexpr int sum_unroll = 2;

/// What the protocol asks of a worker (push_protocol.hpp), for one block. Thread t speaks with member t.
template <class Number, SelfCheck self_check>
class PushPort {
 public:
  using Work = PushWork;
  using Stored = typename Number::Stored;
  static constexpr unsigned threads = push_threads;
  static constexpr unsigned blocks_each = push_blocks_each;

  /// `made`: calls before this launch.
  __device__ PushPort(const PushWork& work, std::uint64_t made)
      : work_(work), waiting_(work.peers, work.wait_limit, may_wait_itself(work)), made_(made) {}

  __device__ unsigned pair() const { return blockIdx.x / 2; }
  __device__ PushRole role() const { return blockIdx.x % 2 == 0 ? PushRole::scatterer : PushRole::summer; }

  __device__ void repeat(std::uint64_t calls) { repeat_pushes(*this, work_.cut, calls); }
  __device__ std::uint64_t call(std::uint64_t turn) const { return made_ + turn; }
  __device__ void begin(std::uint64_t turn) {
    const std::uint64_t number = call(turn);
    if (work_.wait_limit.jitter != 0)
      inject_jitter(work_.wait_limit.jitter, me(), number, threadIdx.x + blockIdx.x % 2);
    if constexpr (self_check == SelfCheck::on) {
      if (role() == PushRole::scatterer) write_checked(number);
    }
  }

  __device__ bool await_room(std::uint64_t call, std::uint32_t round) {
    const bool concerned = speaks() && member() != me() && round < cut().rounds(member(), pair());
    const std::uint64_t number = concerned ? cut().number(member(), pair(), call, round) : 0;
    return await(number > push_depth ? number - push_depth : 0, own().credits[blockIdx.x]);
  }
  __device__ void push(int owner, Bytes place, const PushCut::Piece& piece) const {
    const std::byte* from = work_.source + piece.at;
    std::byte* to = work_.peers.workspaces[owner] + packets_offset + place;
    each_part<copy_unroll, Stored>(
        piece.bytes, [&](auto vectors, Bytes at) { copy<vectors()>(from, to, at); },
        [&](Bytes at) { *reinterpret_cast<Stored*>(to + at) = *reinterpret_cast<const Stored*>(from + at); });
  }
  __device__ void tell_chunks(std::uint64_t call, std::uint32_t round) const {
    __syncthreads();  // what the block has stored is published by the threads that say so
    if (speaks() && round < cut().rounds(member(), pair()))
      gpu::vendor::store_release_system(&theirs().credits[blockIdx.x + 1][me()],
                                        cut().number(member(), pair(), call, round));
  }
  __device__ bool await_results(std::uint64_t call) {
    seen_ = 0;  // another thing is counted here
    const bool fine =
        await(speaks() && holds(cut().awaited(), member()) ? call : 0, own().arrivals[blockIdx.x]);
    seen_ = 0;
    return fine;
  }
  __device__ void end(std::uint64_t call) {
    if constexpr (self_check == SelfCheck::on) check_received(call);
  }

  __device__ bool await_chunks(std::uint64_t call, std::uint32_t round) {
    return await(speaks() ? cut().number(me(), pair(), call, round) : 0, own().credits[blockIdx.x]);
  }
  __device__ void sum(std::uint64_t number, const PushCut::Piece& piece) const {
    const std::byte* own_part = work_.source + piece.at;
    const std::byte* parts = work_.peers.workspaces[me()] + packets_offset +
                             cut().place(me(), member_after(me(), 1, cut().members), pair(), number);
    const auto from = [&](int member) {
      return member == me() ? own_part : parts + cut().peer_info(me(), member) * cut().seat_bytes();
    };
    const Bytes begin = piece.at - work_.destination_at;
    each_part<sum_unroll, Stored>(
        piece.bytes, [&](auto vectors, Bytes at) { add<vectors()>(from, begin, at); },
        [&](Bytes at) {
          const Stored result = sum_element<Number>(from, cut().members, at);
          each_reader([&](std::byte* to) { *reinterpret_cast<Stored*>(to + begin + at) = result; });
        });
  }
  __device__ void give_room(std::uint64_t call, std::uint32_t round) const {
    __syncthreads();  // all have read, and stored
    if (speaks() && member() != me())
      gpu::vendor::store_release_system(&theirs().credits[blockIdx.x - 1][me()],
                                        cut().number(me(), pair(), call, round));
  }
  __device__ void tell_results(std::uint64_t call) const {
    __syncthreads();  // where there was no round, all the same
    if (speaks() && holds(cut().told(), member()))
      gpu::vendor::store_release_system(&theirs().arrivals[blockIdx.x - 1][me()], call);
  }

 private:
  /// A scatterer waits for owners who may be late because another is; a summer waits for the one that is late.
  __device__ static MemberSet may_wait_itself(const PushWork& work) {
    return blockIdx.x % 2 == 0 ? all_of(work.peers.members) : 0U;
  }

  __device__ const PushCut& cut() const { return work_.cut; }
  __device__ int me() const { return work_.peers.me; }
  /// Whom this thread speaks with, where it does with anybody.
  __device__ static int member() { return static_cast<int>(threadIdx.x); }
  __device__ bool speaks() const { return member() < work_.peers.members; }
  __device__ Workspace& own() const { return workspace_of(work_.peers, me()); }
  __device__ Workspace& theirs() const { return workspace_of(work_.peers, member()); }

  /// Until this thread's member has counted up to `number` in `row`, for all threads. False: give up.
  __device__ bool await(std::uint64_t number, const std::uint64_t* row) {
    bool fine = true;
    while (fine && seen_ < number) {
      seen_ = gpu::vendor::load_acquire_system(row + member());
      if (seen_ < number) fine = waiting_.again(only(member()));
    }
    waiting_.over();
    return __syncthreads_or(fine ? 0 : 1) == 0;
  }

  template <int vectors>
  __device__ static void copy(const std::byte* from, std::byte* to, Bytes at) {
    const Bytes apart = blockDim.x * vector_bytes;
    Vector loads[vectors];
    load_vectors(from, at, apart, loads);
    store_vectors(to, at, apart, loads);
  }
  template <int vectors, class From>
  __device__ void add(const From& from, Bytes begin, Bytes at) const {
    const Bytes apart = blockDim.x * vector_bytes;
    Vector results[vectors];
    sum_vectors<Number>(from, cut().members, at, apart, results);
    each_reader([&](std::byte* to) { store_vectors(to + begin, at, apart, results); });
  }
  /// The next member first: not everybody stores to the same one.
  template <class What>
  __device__ void each_reader(const What& what) const {
    for (int step = 1; step <= cut().members; ++step) {
      const int to = member_after(me(), step, cut().members);
      if (holds(cut().readers, to)) what(work_.destinations[to]);
    }
  }

  /// Calls `what` with where in the whole this thread's elements of this pair's chunks are, in the shares of `owners`.
  template <class What>
  __device__ void each_checked(MemberSet owners, const What& what) const {
    for (int owner = 0; owner < cut().members; ++owner) {
      if (!holds(owners, owner)) continue;
      for (std::uint32_t round = 0; round < cut().rounds(owner, pair()); ++round) {
        const PushCut::Piece piece = cut().piece(owner, pair(), round);
        for (Bytes at = threadIdx.x * checked_element_bytes; at < piece.bytes;
             at += blockDim.x * checked_element_bytes)
          what(piece.at + at);
      }
    }
  }
  /// Writes the numbers of this call.
  __device__ void write_checked(std::uint64_t call) const {
    each_checked(all_of(cut().members), [&](Bytes at) {
      *reinterpret_cast<int*>(work_.checked_source + at) =
          input_element(call, me(), at / checked_element_bytes);
    });
    __syncthreads();
  }
  __device__ void check_received(std::uint64_t call) const {
    CheckCounters tally;
    each_checked(cut().results, [&](Bytes at) {
      const std::byte* found = work_.destinations[me()] + (at - work_.destination_at);
      tally.look(call, *reinterpret_cast<const int*>(found),
                 summed_element(call, cut().members, at / checked_element_bytes));
    });
    tally.tell(own().notices);
    __syncthreads();  // all have looked before the block goes on to the next call
  }

  const PushWork& work_;
  PeerWait waiting_;
  std::uint64_t made_;
  std::uint64_t seen_ = 0;  ///< of the row that the block waits at
};

}  // namespace

const void* push_kernel(ElementType type, SelfCheck self_check) {
  return worker_kernel<PushPort>(type, self_check);
}

}  // namespace linkscope::direct
