// PacketPort: a GPU's threads as workers of the packet protocol, and the kernel that they run.
#pragma once

#include <cstdint>

#include "backend/gpu/vendor.hpp"
#include "collective/kernels/numbers.hpp"
#include "collective/kernels/packet_formats.hpp"
#include "collective/kernels/packet_kernels.hpp"
#include "collective/kernels/peer_barrier.hpp"
#include "collective/protocol/packet_protocol.hpp"

namespace linkscope::direct {

/// A Port of packet_protocol.hpp: one thread or one warp.
template <class Form, class Number, class Ends>
class PacketPort {
 public:
  using Payload = typename Form::Payload;
  using Raw = typename Form::Raw;

  class Sum {
   public:
    __device__ void add(const Payload& load) { sum_.add(load.word); }
    __device__ Payload total() const {
      Payload load;
      sum_.total(load.word);
      return load;
    }

   private:
    WordSum<Number, Form::words> sum_;
  };

  /// `made`: calls before this launch.
  __device__ PacketPort(const PacketWork& exchange, std::uint64_t made)
      : work_(exchange),
        staging_(exchange.staging),
        ends_(exchange),
        waiting_(exchange.peers, exchange.wait_limit, roots(exchange)),
        made_(made) {}

  __device__ Extent worker() const { return (blockIdx.x * blockDim.x + threadIdx.x) / Form::threads; }
  __device__ Extent workers() const { return gridDim.x * blockDim.x / Form::threads; }
  __device__ Extent packets() const { return staging_.packets; }

  __device__ std::uint64_t call(std::uint64_t turn) const { return gpu::vendor::opaque(made_) + turn; }
  __device__ void begin(std::uint64_t turn) {
    ends_.begin(made_ + turn);
    if (work_.wait_limit.jitter != 0)
      inject_jitter(work_.wait_limit.jitter, work_.peers.me, made_ + turn, worker());
  }
  __device__ Payload take(int piece, Extent packet) const {
    return Form::take(ends_, piece, packet * Form::load_bytes);
  }
  __device__ void put(int piece, Extent packet, const Payload& load) {
    Form::put(ends_, piece, packet * Form::load_bytes, load);
  }
  __device__ void send(int to, Extent area, Extent packet, const Payload& load, std::uint64_t call) {
    Form::send(place(to, area, work_.peers.me, packet, call), load, call);
  }
  __device__ Raw look(int from, Extent area, Extent packet, std::uint64_t call) const {
    return Form::look(place(work_.peers.me, area, from, packet, call));
  }
  __device__ static void join() { Form::join(); }
  __device__ bool complete(const Raw& raw, std::uint64_t call) const { return Form::complete(raw, call); }
  __device__ Payload load_of(const Raw& raw) const { return Form::load_of(raw); }
  __device__ bool agree(bool yes) {
    const bool all = Form::agree(yes);
    if (all) waiting_.over();
    return all;
  }
  __device__ bool wait_for(MemberSet late) { return Form::agree(waiting_.again(late)); }

  __device__ bool await_credits(std::uint64_t turn) {
    const std::uint64_t needed = staging_.read_before(made_ + turn);
    if (needed == 0) return true;  // for all threads of the block
    const auto member = static_cast<int>(threadIdx.x);
    bool fine = true;
    if (member < most_members && holds(work_.pieces.targets, member)) {
      const std::uint64_t* read = &own().credits[blockIdx.x][member];
      while (fine && gpu::vendor::load_acquire_system(read) < needed) fine = waiting_.again(only(member));
      waiting_.over();
    }
    return __syncthreads_or(fine ? 0 : 1) == 0;
  }
  __device__ bool give_credits(std::uint64_t turn, bool fine) {
    const std::uint64_t call = made_ + turn;
    const auto member = static_cast<int>(threadIdx.x);
    const int me = work_.peers.me;
    const bool all = __syncthreads_or(fine ? 0 : 1) == 0;  // and all have read
    if (all && staging_.told_after(call) && member < most_members && member != me &&
        holds(work_.pieces.origins, member))
      gpu::vendor::store_release_system(&workspace_of(work_.peers, member).credits[blockIdx.x][me], call);
    return all;
  }

  __device__ Workspace& own() const { return workspace_of(work_.peers, work_.peers.me); }
  __device__ void finish() { ends_.finish(); }

 private:
  __device__ std::byte* place(int holder, Extent area, int from, Extent packet, std::uint64_t call) const {
    return work_.peers.workspaces[holder] +
           (staging_.offset(work_.peers.members, call, area, from) + packet * Form::packet_bytes);
  }

  __device__ static MemberSet roots(const PacketWork& exchange) {
    return exchange.pieces.traffic == Traffic::one_way ? only(0) : 0U;
  }

  const PacketWork& work_;
  const Staging staging_;  // a copy, which no store can change: places are reckoned once for several sends
  Ends ends_;
  PeerWait waiting_;
  std::uint64_t made_;
};

template <class Form, Trips trips, Combine combine, class Number, class Ends>
__global__ void __launch_bounds__(packet_threads, 1)
    exchange_packets(LINKSCOPE_IN_PLACE PacketWork exchange, LaunchArguments launch) {
  programmatic_prologue(exchange, launch.dependent);
  std::uint64_t& calls = workspace_of(exchange.peers, exchange.peers.me).calls[blockIdx.x];
  const std::uint64_t made = calls;
  PacketPort<Form, Number, Ends> port(exchange, made);
  repeat_calls(port, exchange.pieces, launch.calls, [&](std::uint64_t turn) {
    if constexpr (trips == Trips::two) return two_shot(port, exchange.pieces, turn);
    return one_shot<combine>(port, exchange.pieces, turn);
  });
  port.finish();
  __syncthreads();  // all have read how many calls there were
  if (threadIdx.x == 0) calls = made + launch.calls;
}

}  // namespace linkscope::direct
