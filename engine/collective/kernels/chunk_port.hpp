// ChunkPort: what workers of pushes and of rings have in common, each a block of threads.
#pragma once

#include <cstdint>

#include "backend/gpu/vendor.hpp"
#include "collective/kernels/kernels.hpp"
#include "collective/kernels/numbers.hpp"
#include "collective/kernels/peer_barrier.hpp"
#include "collective/kernels/vectors.hpp"

namespace linkscope::direct {

// Vectors in flight per thread, of each source.
inline constexpr int copy_unroll = 4;
inline constexpr int sum_unroll = 2;

/// A worker of one member's `TheWork`. `made`: calls before this launch.
template <class TheNumber, class TheWork>
class ChunkPort {
 public:
  using Work = TheWork;
  using Number = TheNumber;
  using Stored = typename Number::Stored;

  __device__ ChunkPort(const Work& work, std::uint64_t made, MemberSet waits_itself)
      : work_(work), waiting_(work.peers, work.wait_limit, waits_itself), made_(made) {}

  __device__ std::uint64_t call(std::uint64_t turn) const { return made_ + turn; }

 protected:
  __device__ const auto& cut() const { return work_.cut; }
  __device__ int me() const { return work_.peers.me; }
  __device__ Workspace& space_of(int member) const { return workspace_of(work_.peers, member); }
  __device__ std::byte* staging(int member, Bytes place) const {
    return work_.peers.workspaces[member] + packets_offset + place;
  }
  __device__ void dawdle(std::uint64_t call, unsigned worker) const {
    if (work_.wait_limit.jitter != 0) inject_jitter(work_.wait_limit.jitter, me(), call, worker);
  }

  /// Says whether `count`, which this thread watches, has come to `number`; `member` sees to it. False: give up.
  __device__ bool has_come(const std::uint64_t* count, std::uint64_t number, int member) {
    bool fine = true;
    while (fine && seen_ < number) {
      seen_ = gpu::vendor::load_acquire_system(count);
      if (seen_ < number) fine = waiting_.again(only(member));
    }
    waiting_.over();
    return fine;
  }
  /// The next count that this thread watches is another one.
  __device__ void watch_another() { seen_ = 0; }
  /// Brings the block together: whether all its threads say yes.
  __device__ static bool all_fine(bool fine) { return __syncthreads_or(fine ? 0 : 1) == 0; }

  /// Copies to all of `to(i)`, i < targets.
  template <class To>
  __device__ static void copy(const std::byte* from, int targets, const To& to, Bytes bytes) {
    const Bytes apart = blockDim.x * vector_bytes;
    each_part<copy_unroll, Stored>(
        bytes,
        [&](auto vectors, Bytes at) {
          Vector loads[vectors()];
          load_vectors(from, at, apart, loads);
          for (int i = 0; i < targets; ++i) store_vectors(to(i), at, apart, loads);
        },
        [&](Bytes at) { store(targets, to, at, *reinterpret_cast<const Stored*>(from + at)); });
  }
  template <class To>
  __device__ static void store(int targets, const To& to, Bytes at, Stored element) {
    for (int i = 0; i < targets; ++i) *reinterpret_cast<Stored*>(to(i) + at) = element;
  }

  const Work& work_;
  PeerWait waiting_;
  std::uint64_t made_;

 private:
  std::uint64_t seen_ = 0;  ///< of what this thread watches
};

/// A Port is made of its Work and how many calls there were before this launch, and its repeat() makes the launch's.
template <class Port>
__global__ void LINKSCOPE_RESIDENT(chunk_threads, chunk_blocks_each)
    make_calls(LINKSCOPE_IN_PLACE typename Port::Work work, LaunchArguments launch) {
  programmatic_prologue(work, launch.dependent);
  std::uint64_t& calls = workspace_of(work.peers, work.peers.me).calls[blockIdx.x];
  const std::uint64_t made = calls;
  Port port(work, made);
  port.repeat(launch.calls);
  __syncthreads();  // all have read how many calls there were
  if (threadIdx.x == 0) calls = made + launch.calls;
}

}  // namespace linkscope::direct
