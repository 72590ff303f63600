// PacketPort: a GPU's threads as workers of the packet protocol, by packets that carry their own flags, and its kernel.
#pragma once

#include <cstdint>

#include "backend/gpu/vendor.hpp"
#include "collective/kernels/kernels.hpp"
#include "collective/kernels/numbers.hpp"
#include "collective/kernels/peer_barrier.hpp"
#include "collective/protocol/packet_protocol.hpp"

namespace linkscope::direct {

/// A packet of one thread: 8 bytes in two words of 64 bits, each of which holds 4 of them and the call's number (its
/// low 32 bits). Words of 64 bits are loaded and stored whole: a thread that sees the flag sees the data. One trip
/// instead of two, for twice the bytes.
struct PairFormat {
  static constexpr unsigned threads = 1;
  static constexpr unsigned load_bytes = 8;
  static constexpr unsigned packet_bytes = 16;
  static constexpr bool takes_elements = true;
  static constexpr int words = 1;

  struct Payload {
    std::uint64_t word[words];
  };
  struct Raw {
    gpu::vendor::WordPair pair;
  };

  template <class Ends>
  __device__ static Payload take(const Ends& ends, int piece, Extent at) {
    return {{ends.word(piece, at)}};
  }
  template <class Ends>
  __device__ static void put(Ends& ends, int piece, Extent at, const Payload& load) {
    ends.put_word(piece, at, load.word[0]);
  }
  __device__ static void send(std::byte* place, const Payload& load, std::uint64_t call) {
    constexpr std::uint64_t low_half = 0xFFFFFFFFU;
    const std::uint64_t flag = call << 32U;
    gpu::vendor::store_relaxed_system(reinterpret_cast<gpu::vendor::WordPair*>(place),
                                      {flag | (load.word[0] & low_half), flag | load.word[0] >> 32U});
  }
  __device__ static Raw look(const std::byte* place) {
    return {gpu::vendor::load_relaxed_system(reinterpret_cast<const gpu::vendor::WordPair*>(place))};
  }
  __device__ static bool complete(const Raw& raw, std::uint64_t call) {
    const auto flag = static_cast<std::uint32_t>(call);
    return static_cast<std::uint32_t>(raw.pair.first >> 32U) == flag &&
           static_cast<std::uint32_t>(raw.pair.second >> 32U) == flag;
  }
  __device__ static Payload load_of(const Raw& raw) {
    return {{static_cast<std::uint32_t>(raw.pair.first) | raw.pair.second << 32U}};
  }
  __device__ static bool agree(bool yes) { return yes; }
  __device__ static void join() {}
};

/// A packet of one warp: 960 bytes in eight lines of 128 bytes. Each line holds 120 of them, and the call's number in
/// its last 8 bytes. This rests on what vendor::lines_arrive_whole says: a warp's store of 16 bytes a thread to whole
/// lines is seen line by line, or not yet (NVLink; NCCL counts on the same). Eight threads share a line and the eighth
/// carries its flag: its own 16 bytes of data, words 0 and 1, are split between the two lines that it has a part in.
struct LineFormat {
  static constexpr unsigned threads = 32;
  static constexpr unsigned load_bytes = 960;
  static constexpr unsigned packet_bytes = 1024;
  static constexpr bool takes_elements = false;  ///< pieces are whole vectors
  static constexpr int words = 4;

  struct Payload {
    std::uint64_t word[words];
  };
  struct Raw {
    gpu::vendor::WordPair near, far;
  };

  /// No thread goes a way of its own, and nothing is done with what is loaded: so the loads of several packets set out
  /// together. A thread with a flag loads its one place twice.
  template <class Ends>
  __device__ static Payload take(const Ends& ends, int piece, Extent at) {
    const gpu::vendor::WordPair near = ends.pair(piece, at + near_offset());
    const gpu::vendor::WordPair far = ends.pair(piece, at + (has_flag() ? near_offset() : far_offset()));
    return {{near.first, near.second, far.first, far.second}};
  }
  template <class Ends>
  __device__ static void put(Ends& ends, int piece, Extent at, const Payload& load) {
    const auto& word = load.word;
    ends.put_pair(piece, at + near_offset(), {word[0], word[1]});
    if (!has_flag()) ends.put_pair(piece, at + far_offset(), {word[2], word[3]});
  }
  __device__ static void send(std::byte* place, const Payload& load, std::uint64_t call) {
    const auto& word = load.word;
    auto* pairs = reinterpret_cast<gpu::vendor::WordPair*>(place) + lane();
    gpu::vendor::store_relaxed_system(pairs, {word[0], has_flag() ? call : word[1]});
    gpu::vendor::store_relaxed_system(pairs + threads,
                                      {has_flag() ? word[1] : word[2], has_flag() ? call : word[3]});
  }
  __device__ static Raw look(const std::byte* place) {
    const auto* pairs = reinterpret_cast<const gpu::vendor::WordPair*>(place) + lane();
    return {gpu::vendor::load_relaxed_system(pairs), gpu::vendor::load_relaxed_system(pairs + threads)};
  }
  __device__ static bool complete(const Raw& raw, std::uint64_t call) {
    const std::uint64_t other = (raw.near.second ^ call) | (raw.far.second ^ call);
    return has_flag() ? other == 0 : true;
  }
  __device__ static Payload load_of(const Raw& raw) {
    return {{raw.near.first, has_flag() ? raw.far.first : raw.near.second, raw.far.first, raw.far.second}};
  }
  __device__ static bool agree(bool yes) { return gpu::vendor::all_of_warp(yes); }
  /// Loads and stores of a line are one instruction only where the warp's threads come to it together.
  __device__ static void join() { gpu::vendor::join_warp(); }

 private:
  static constexpr unsigned per_line = 8;
  __device__ static unsigned lane() { return threadIdx.x % threads; }
  __device__ static bool has_flag() { return lane() % per_line == per_line - 1; }
  __device__ static Extent near_offset() { return 16 * lane(); }
  __device__ static Extent far_offset() { return 16 * (threads + lane() - lane() / per_line); }
};

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
