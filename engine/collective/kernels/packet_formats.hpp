// PairFormat and LineFormat: packets that carry their own flags, as a GPU's threads store and load them.
#pragma once

#include <cstdint>

#include "backend/gpu/vendor.hpp"
#include "collective/protocol/pieces.hpp"

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

}  // namespace linkscope::direct
