// PushPort: a GPU's blocks as workers of the push protocol.
#pragma once

#include <cstdint>

#include "collective/kernels/chunk_port.hpp"

namespace linkscope::direct {
/// A Port of push_protocol.hpp: one block. Thread t speaks with member t.
template <class Number, class Hooks>
class PushPort : public ChunkPort<Number, PushWork> {
  using Base = ChunkPort<Number, PushWork>;
  using Base::cut;
  using Base::me;
  using Base::space_of;
  using Base::work_;
  using typename Base::Stored;

 public:
  /// A scatterer waits for owners who may be late because another is; a summer waits for the one that is late.
  __device__ PushPort(const PushWork& work, std::uint64_t made)
      : Base(work, made, blockIdx.x % 2 == 0 ? all_of(work.peers.members) : 0U) {}

  __device__ unsigned pair() const { return blockIdx.x / 2; }
  __device__ PushRole role() const { return blockIdx.x % 2 == 0 ? PushRole::scatterer : PushRole::summer; }

  __device__ void repeat(std::uint64_t calls) { repeat_pushes(*this, cut(), calls); }
  __device__ void begin(std::uint64_t turn) {
    const std::uint64_t number = Base::call(turn);
    Base::dawdle(number, threadIdx.x + blockIdx.x % 2);
    Hooks::begin(work_, number);
  }

  __device__ bool await_room(std::uint64_t call, std::uint32_t round) {
    const bool concerned = speaks() && member() != me() && round < cut().rounds(member(), pair());
    const std::uint64_t number = concerned ? cut().number(member(), pair(), call, round) : 0;
    return await(number > push_depth ? number - push_depth : 0, own().credits[blockIdx.x]);
  }
  __device__ void push(int owner, Bytes place, const PushCut::Piece& piece) const {
    std::byte* to = Base::staging(owner, place);
    Base::copy(work_.source + piece.at, 1, [&](int) { return to; }, piece.bytes);
  }
  __device__ void tell_chunks(std::uint64_t call, std::uint32_t round) const {
    __syncthreads();  // what the block has stored is published by the threads that say so
    if (speaks() && round < cut().rounds(member(), pair()))
      gpu::vendor::store_release_system(&theirs().credits[blockIdx.x + 1][me()],
                                        cut().number(member(), pair(), call, round));
  }
  __device__ bool await_results(std::uint64_t call) {
    Base::watch_another();
    const bool fine =
        await(speaks() && holds(cut().awaited(), member()) ? call : 0, own().arrivals[blockIdx.x]);
    Base::watch_another();
    return fine;
  }
  __device__ void end(std::uint64_t call) { Hooks::end(work_, call); }

  __device__ bool await_chunks(std::uint64_t call, std::uint32_t round) {
    return await(speaks() ? cut().number(me(), pair(), call, round) : 0, own().credits[blockIdx.x]);
  }
  __device__ void sum(std::uint64_t number, const PushCut::Piece& piece) const {
    const std::byte* own_part = work_.source + piece.at;
    const std::byte* parts =
        Base::staging(me(), cut().place(me(), member_after(me(), 1, cut().members), pair(), number));
    const auto from = [&](int member) {
      return member == me() ? own_part : parts + cut().seat(me(), member) * cut().seat_bytes();
    };
    const Bytes apart = blockDim.x * vector_bytes;
    const Bytes begin = piece.at - work_.destination_at;
    each_part<sum_unroll, Stored>(
        piece.bytes,
        [&](auto vectors, Bytes at) {
          Vector results[vectors()];
          sum_vectors<Number>(from, cut().members, at, apart, results);
          each_reader([&](std::byte* to) { store_vectors(to + begin, at, apart, results); });
        },
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
  /// Whom this thread speaks with, where it does with anybody.
  __device__ static int member() { return static_cast<int>(threadIdx.x); }
  __device__ bool speaks() const { return member() < work_.peers.members; }
  __device__ Workspace& own() const { return space_of(me()); }
  __device__ Workspace& theirs() const { return space_of(member()); }

  /// Until this thread's member has counted up to `number` in `row`, for all threads. False: give up.
  __device__ bool await(std::uint64_t number, const std::uint64_t* row) {
    return Base::all_fine(Base::has_come(row + member(), number, member()));
  }

  /// The next member first: not everybody stores to the same one.
  template <class What>
  __device__ void each_reader(const What& what) const {
    for (int step = 1; step <= cut().members; ++step) {
      const int to = member_after(me(), step, cut().members);
      if (holds(cut().readers, to)) what(work_.destinations[to]);
    }
  }
};

}  // namespace linkscope::direct
