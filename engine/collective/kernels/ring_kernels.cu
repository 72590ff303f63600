// Ring kernels: a GPU's blocks as workers of the ring protocol.
#include "collective/kernels/ring_kernels.hpp"

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

/// What the protocol asks of a worker (ring_protocol.hpp), for one block.
template <class Number, SelfCheck self_check>
class RingPort {
 public:
  using Work = RingWork;
  using Stored = typename Number::Stored;
  static constexpr unsigned threads = ring_threads;
  static constexpr unsigned blocks_each = ring_blocks_each;

  /// `made`: calls before this launch.
  __device__ RingPort(const RingWork& work, std::uint64_t made)
      : work_(work),
        barrier_wait_(work.peers, work.wait_limit, 0),
        waiting_(work.peers, work.wait_limit, all_of(work.peers.members)),
        made_(made) {}

  __device__ static unsigned worker() { return blockIdx.x; }
  __device__ void repeat(std::uint64_t calls) { repeat_rings(*this, work_.cut, calls); }
  __device__ std::uint64_t call(std::uint64_t turn) const { return made_ + turn; }
  __device__ void begin(std::uint64_t turn) {
    const std::uint64_t number = call(turn);
    if (work_.wait_limit.jitter != 0) inject_jitter(work_.wait_limit.jitter, cut().me, number, threadIdx.x);
    if constexpr (self_check == SelfCheck::on) write_checked(number);
  }
  __device__ bool peer_barrier(std::uint64_t call) {
    return direct::peer_barrier(work_.peers, barrier_wait_, call);
  }

  __device__ bool await(std::uint64_t things, std::uint64_t limits) {
    bool fine = true;
    if (threadIdx.x == from_previous) fine = has_come(things, cut().previous());
    if (threadIdx.x == from_next) fine = has_come(limits, cut().next());
    return __syncthreads_or(fine ? 0 : 1) == 0;
  }

  __device__ void move(const RingStep& step) const {
    const Places places(*this, step);
    if (step.takes == RingTakes::staged_and_own)
      add_up(places, step.bytes);
    else if (step.gives != RingGives::nothing || step.keeps)
      pass_on(places, step.bytes);
  }

  __device__ void tell(std::uint64_t sent, std::uint64_t read) const {
    __syncthreads();  // what the block has stored, and loaded, is published by the threads that say so
    if (threadIdx.x == from_previous && sent != 0)
      gpu::vendor::store_release_system(&row_of(cut().next())[from_previous], sent);
    if (threadIdx.x == from_next && read != 0)
      gpu::vendor::store_release_system(&row_of(cut().previous())[from_next], read);
  }

  __device__ void end(std::uint64_t call) {
    if constexpr (self_check == SelfCheck::on) check_received(call);
  }

 private:
  // What a member's row of credits counts, and which thread sees to it.
  static constexpr unsigned from_previous = 0;  ///< things that the member before has stored
  static constexpr unsigned from_next = 1;      ///< those of the next one's staging that it has read

  /// Where a step's data come from and go to.
  struct Places {
    __device__ Places(const RingPort& port, const RingStep& step) {
      const RingWork& work = port.work_;
      const Bytes in_destination = step.at - work.destination_at;
      if (step.takes == RingTakes::result)
        from = work.destination + in_destination;
      else
        from = work.source + (step.at - work.source_at);
      if (step.taken != 0) staged = port.staging(port.cut().me, step.taken);
      if (step.gives == RingGives::staging) to[targets++] = port.staging(port.cut().next(), step.placed);
      if (step.gives == RingGives::result) to[targets++] = work.next_destination + in_destination;
      if (step.keeps) to[targets++] = work.destination + in_destination;
    }
    const std::byte* from = nullptr;
    const std::byte* staged = nullptr;
    std::byte* to[2] = {};
    int targets = 0;
  };

  __device__ const RingCut& cut() const { return work_.cut; }
  __device__ std::uint64_t* row_of(int member) const {
    return workspace_of(work_.peers, member).credits[blockIdx.x];
  }
  __device__ std::byte* staging(int member, std::uint64_t number) const {
    return work_.peers.workspaces[member] + packets_offset + cut().place(worker(), number);
  }

  /// Whether this thread's count has come to `number`, for which `member` is to see. False: give up.
  __device__ bool has_come(std::uint64_t number, int member) {
    bool fine = true;
    while (fine && seen_ < number) {
      seen_ = gpu::vendor::load_acquire_system(row_of(cut().me) + threadIdx.x);
      if (seen_ < number) fine = waiting_.again(only(member));
    }
    waiting_.over();
    return fine;
  }

  __device__ static void pass_on(const Places& places, Bytes bytes) {
    const Bytes apart = blockDim.x * vector_bytes;
    each_part<copy_unroll, Stored>(
        bytes,
        [&](auto vectors, Bytes at) {
          Vector loads[vectors()];
          load_vectors(places.from, at, apart, loads);
          for (int i = 0; i < places.targets; ++i) store_vectors(places.to[i], at, apart, loads);
        },
        [&](Bytes at) { store_element(places, at, *reinterpret_cast<const Stored*>(places.from + at)); });
  }
  /// What was sent comes first: a sum is made in the order of the ring, the same for everybody.
  __device__ static void add_up(const Places& places, Bytes bytes) {
    const Bytes apart = blockDim.x * vector_bytes;
    const auto from = [&](int source) { return source == 0 ? places.staged : places.from; };
    each_part<sum_unroll, Stored>(
        bytes,
        [&](auto vectors, Bytes at) {
          Vector results[vectors()];
          sum_vectors<Number>(from, 2, at, apart, results);
          for (int i = 0; i < places.targets; ++i) store_vectors(places.to[i], at, apart, results);
        },
        [&](Bytes at) { store_element(places, at, sum_element<Number>(from, 2, at)); });
  }
  __device__ static void store_element(const Places& places, Bytes at, Stored element) {
    for (int i = 0; i < places.targets; ++i) *reinterpret_cast<Stored*>(places.to[i] + at) = element;
  }

  /// Calls `what` with a share's number and where in the whole this thread's elements of it are, of this worker's
  /// chunks.
  template <class What>
  __device__ void each_checked(MemberSet shares, const What& what) const {
    for (int share = 0; share < cut().shares; ++share) {
      if (!holds(shares, share)) continue;
      const Bytes begin = cut().share * static_cast<Bytes>(share);
      for (std::uint32_t round = 0; round < cut().rounds(worker()); ++round) {
        const Bytes first = (Bytes{round} * cut().workers + worker()) * cut().chunk;
        const Bytes whole = cut().length(share);
        const Bytes end = first + cut().chunk < whole ? first + cut().chunk : whole;
        for (Bytes at = first + threadIdx.x * checked_element_bytes; at < end;
             at += blockDim.x * checked_element_bytes)
          what(share, begin + at);
      }
    }
  }
  /// Writes the numbers of this call.
  __device__ void write_checked(std::uint64_t call) const {
    each_checked(cut().sources(), [&](int /*share*/, Bytes at) {
      *reinterpret_cast<int*>(work_.checked_source + (at - work_.source_at)) =
          input_element(call, cut().me, at / checked_element_bytes);
    });
  }
  __device__ void check_received(std::uint64_t call) const {
    __syncthreads();  // all of the block's results are there
    CheckCounters tally;
    each_checked(cut().results(), [&](int share, Bytes at) {
      const int expected = cut().sums() ? summed_element(call, cut().members, at / checked_element_bytes)
                                        : input_element(call, share, at / checked_element_bytes);
      const std::byte* found = work_.destination + (at - work_.destination_at);
      tally.look(call, *reinterpret_cast<const int*>(found), expected);
    });
    tally.tell(workspace_of(work_.peers, cut().me).notices);
    __syncthreads();  // all have looked before the block goes on to the next call
  }

  const RingWork& work_;
  PeerWait barrier_wait_;
  PeerWait waiting_;  ///< for one that may be late because another is: a lost member is named where all meet
  std::uint64_t made_;
  std::uint64_t seen_ = 0;  ///< of what this thread sees to
};

}  // namespace

const void* ring_kernel(ElementType type, SelfCheck self_check) {
  return worker_kernel<RingPort>(type, self_check);
}

}  // namespace linkscope::direct
