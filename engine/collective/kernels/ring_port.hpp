// RingPort: a GPU's blocks as workers of the ring protocol.
#pragma once

#include <cstdint>

#include "collective/kernels/chunk_port.hpp"

namespace linkscope::direct {
/// A Port of ring_protocol.hpp: one block. A lost member is named at the barrier, where
/// all wait for all: elsewhere one may be late because another is.
template <class Number, class Hooks>
class RingPort : public ChunkPort<Number, RingWork> {
  using Base = ChunkPort<Number, RingWork>;
  using Base::cut;
  using Base::work_;
  using typename Base::Stored;

 public:
  __device__ RingPort(const RingWork& work, std::uint64_t made)
      : Base(work, made, all_of(work.peers.members)), barrier_wait_(work.peers, work.wait_limit, 0) {}

  __device__ static unsigned worker() { return blockIdx.x; }
  __device__ void repeat(std::uint64_t calls) { repeat_rings(*this, cut(), calls); }
  __device__ void begin(std::uint64_t turn) {
    const std::uint64_t number = Base::call(turn);
    Base::dawdle(number, threadIdx.x);
    Hooks::begin(work_, number);
  }
  __device__ bool meet(std::uint64_t call) { return peer_barrier(work_.peers, barrier_wait_, call); }

  __device__ bool await(std::uint64_t things, std::uint64_t read) {
    bool fine = true;
    const std::uint64_t* count = row_of(cut().me) + threadIdx.x;
    if (threadIdx.x == from_previous) fine = Base::has_come(count, things, cut().previous());
    if (threadIdx.x == from_next) fine = Base::has_come(count, read, cut().next());
    return Base::all_fine(fine);
  }

  __device__ void move(const RingStep& step) const {
    const Places places(*this, step);
    if (step.takes == RingTakes::staged_and_own)
      add_up(places, step.bytes);
    else if (step.gives != RingGives::nothing || step.keeps)
      Base::copy(places.from, places.targets, [&](int i) { return places.to[i]; }, step.bytes);
  }

  __device__ void tell(std::uint64_t sent, std::uint64_t read) const {
    __syncthreads();  // what the block has stored, and loaded, is published by the threads that say so
    if (threadIdx.x == from_previous && sent != 0)
      gpu::vendor::store_release_system(&row_of(cut().next())[from_previous], sent);
    if (threadIdx.x == from_next && read != 0)
      gpu::vendor::store_release_system(&row_of(cut().previous())[from_next], read);
  }

  __device__ void end(std::uint64_t call) { Hooks::end(work_, call); }

 private:
  // A member's row of credits has two counts, each of which one thread watches.
  static constexpr unsigned from_previous = 0;  ///< things that the member before has stored
  static constexpr unsigned from_next = 1;      ///< those of the next one's staging that it has read

  /// The addresses that a step's data come from and go to.
  struct Places {
    __device__ Places(const RingPort& port, const RingStep& step) {
      const RingWork& work = port.work_;
      const Bytes in_destination = step.at - work.destination_at;
      if (step.takes == RingTakes::result)
        from = work.destination + in_destination;
      else
        from = work.source + (step.at - work.source_at);
      if (step.taken != 0) staged = port.chunk_at(port.cut().me, step.taken);
      if (step.gives == RingGives::staging) to[targets++] = port.chunk_at(port.cut().next(), step.placed);
      if (step.gives == RingGives::result) to[targets++] = work.next_destination + in_destination;
      if (step.keeps) to[targets++] = work.destination + in_destination;
    }
    const std::byte* from = nullptr;
    const std::byte* staged = nullptr;
    std::byte* to[2] = {};
    int targets = 0;
  };

  __device__ std::uint64_t* row_of(int member) const { return Base::space_of(member).credits[blockIdx.x]; }
  __device__ std::byte* chunk_at(int member, std::uint64_t number) const {
    return Base::staging(member, cut().place(worker(), number));
  }

  /// Adds its own part to what was sent: a sum is made in the order of the ring, the same for everybody.
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
        [&](Bytes at) {
          Base::store(
              places.targets, [&](int i) { return places.to[i]; }, at, sum_element<Number>(from, 2, at));
        });
  }

  PeerWait barrier_wait_;
};

}  // namespace linkscope::direct
