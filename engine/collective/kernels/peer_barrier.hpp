// Peer barrier: a block of one member waits for the blocks of the same number in the others, with a limit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/gpu/vendor.hpp"
#include "collective/protocol/pieces.hpp"
#include "collective/protocol/workspace.hpp"
#include "model/pattern.hpp"

namespace linkscope::direct {

[[nodiscard]] __device__ inline Workspace& workspace_of(const PeerTable& peers, int member) {
  return *reinterpret_cast<Workspace*>(peers.workspaces[member]);
}

/// What a kernel does beside each call, at its start and at its end: nothing. The hooks of tests make up inputs and check
/// results in the kernel (tests/device/self_checks.cu).
struct NoHooks {
  template <class Work>
  __device__ static void begin(const Work& /*work*/, std::uint64_t /*call*/) {}
  template <class Work>
  __device__ static void end(const Work& /*work*/, std::uint64_t /*call*/) {}
};

/// Comes first in every kernel, before it touches memory that others write. The next kernel in the stream is let in
/// when all blocks of this one are on the GPU: so it never takes a place that a block needs for which others wait. The
/// arguments are looked at before the wait: what brings them to the multiprocessor takes its time once for each launch.
template <class Work>
__device__ void programmatic_prologue(const Work& work, DependentLaunch dependent) {
  if (dependent == DependentLaunch::early) gpu::vendor::let_next_start();
  constexpr std::size_t line = 64;
  const auto* bytes = reinterpret_cast<const unsigned char*>(&work);
  std::uint32_t seen = 0;
  for (std::size_t at = 0; at < sizeof work; at += line) seen += bytes[at];
  gpu::vendor::have(seen);
  gpu::vendor::await_predecessors();
  if (dependent == DependentLaunch::programmatic) gpu::vendor::let_next_start();
}

/// Leaves word in every member's workspace that one of `late` did not come: all kernels leave, this launch's and later
/// ones.
__device__ inline void abort_peers(Workspace& own, MemberSet late) {
  std::uint64_t name = 1;
  for (; (late & 1U) == 0; late >>= 1U) ++name;
  gpu::vendor::store_relaxed_system(&own.notices.missing, name);
  for (std::uint64_t member = 0; member < own.book.members; ++member)
    gpu::vendor::store_relaxed_system(&own.book.notices[member]->poison, name);
}

/// 0 where it is time to leave: others have given up, or `late`, whom this thread looks for, have not come in time.
/// Else what the next call takes for `since`, which is 0 at first. Kept out of the way of data that come, and given
/// values alone: what it took by reference would have to be in memory.
__device__ __noinline__ inline std::uint64_t keep_waiting(Workspace* own, std::uint64_t wait_limit,
                                                          MemberSet late, std::uint64_t since) {
  if (gpu::vendor::load_relaxed_system(&own->notices.poison) != 0) return 0;
  const std::uint64_t now = gpu::vendor::device_ticks();
  if (since == 0) return now;
  if (late == 0 || now - since < wait_limit) return since;
  abort_peers(*own, late);
  return 0;
}

/// Wastes a time that depends on call, member and worker: half of the time the member as a whole is late, by up to
/// `jitter` ticks, and each worker a little more.
__device__ __noinline__ inline void inject_jitter(std::uint64_t jitter, int member, std::uint64_t call,
                                                  std::uint64_t worker) {
  const std::uint64_t member_word = pattern_word(call, static_cast<std::uint64_t>(member)) >> 20U;
  const std::uint64_t worker_word = pattern_word(call + worker, member_word) >> 20U;
  const std::uint64_t ticks =
      (member_word & 1U) * ((member_word >> 1U) % jitter) + worker_word % (jitter / 4 + 1);
  const std::uint64_t begin = gpu::vendor::device_ticks();
  while (gpu::vendor::device_ticks() - begin < ticks) {
  }
}

/// One thread's waiting for one thing after another.
class PeerWait {
 public:
  /// `waits_itself`: one that may be late because another is, and is given twice the time: so the right one is named.
  __device__ PeerWait(const PeerTable& peers, const WaitLimits& wait_limit, MemberSet waits_itself)
      : peers_(peers), wait_limits_(wait_limit), waits_itself_(waits_itself) {}

  /// After a look in vain for `late` (none: for what other threads of the warp look for): false where it is time to
  /// leave.
  __device__ bool again(MemberSet late) {
    if (++looks_ % looks_between_news != 0) return true;
    const std::uint64_t wait_limit =
        (late & ~waits_itself_) == 0 ? 2 * wait_limits_.ticks : wait_limits_.ticks;
    since_ = keep_waiting(&workspace_of(peers_, peers_.me), wait_limit, late, since_);
    return since_ != 0;
  }
  /// Says that the thing waited for has come.
  __device__ void over() {
    looks_ = 0;
    since_ = 0;
  }

 private:
  static constexpr unsigned looks_between_news = 1U << 8U;  // asking takes as long as a look

  const PeerTable& peers_;
  const WaitLimits& wait_limits_;
  MemberSet waits_itself_;
  unsigned looks_ = 0;
  std::uint64_t since_ = 0;
};

/// All threads of a block call it: returns when this block's counterparts in all members have called it as often, and
/// all that they wrote before is there. `number` counts on from barrier to barrier. False for all threads: give up.
__device__ inline bool peer_barrier(const PeerTable& peers, PeerWait& waiting, std::uint64_t number) {
  __syncthreads();  // what the block has written is published by the threads that say so
  const auto member = static_cast<int>(threadIdx.x);
  bool fine = true;
  if (member < peers.members && member != peers.me) {
    gpu::vendor::store_release_system(&workspace_of(peers, member).arrivals[blockIdx.x][peers.me], number);
    const std::uint64_t* come = &workspace_of(peers, peers.me).arrivals[blockIdx.x][member];
    while (fine && gpu::vendor::load_acquire_system(come) < number) fine = waiting.again(only(member));
    waiting.over();
  }
  return __syncthreads_or(fine ? 0 : 1) == 0;
}

}  // namespace linkscope::direct
