// BufferEnds and SelfCheckEnds: where packets' data come from and go to.
#pragma once

#include <cstdint>

#include "backend/gpu/vendor.hpp"
#include "collective/kernels/numbers.hpp"
#include "collective/kernels/packet_kernels.hpp"
#include "collective/kernels/peer_barrier.hpp"
#include "collective/kernels/self_check.hpp"
#include "model/elements.hpp"

namespace linkscope::direct {

/// The member's buffers. Beyond a piece's end zeros are read and nothing is written. Reads and writes are plain: what a
/// thread reads and writes here no other touches.
template <class Number, Layout layout>
class BufferEnds {
 public:
  __device__ explicit BufferEnds(const PacketWork& exchange) : work_(exchange) {}

  __device__ void begin(std::uint64_t /*call*/) {}
  __device__ void finish() {}

  __device__ std::uint64_t word(int piece, Extent at) const { return load<std::uint64_t>(piece, at); }
  __device__ gpu::vendor::WordPair pair(int piece, Extent at) const {
    return load<gpu::vendor::WordPair>(piece, at);
  }
  __device__ void put_word(int piece, Extent at, std::uint64_t word) { store(piece, at, word); }
  __device__ void put_pair(int piece, Extent at, const gpu::vendor::WordPair& pair) {
    store(piece, at, pair);
  }

 private:
  using Stored = typename Number::Stored;

  template <class Word>
  __device__ Word load(int piece, Extent at) const {
    const Pieces& pieces = work_.pieces;
    const Extent rest = pieces.rest(piece, pieces.source_step, at);
    const std::byte* from = work_.source + (pieces.source_step * static_cast<Extent>(piece) + at);
    Word word{};
    if constexpr (layout == Layout::vectors) {
      if (rest != 0) word = *reinterpret_cast<const Word*>(from);
    } else {
      for (int i = 0; i < per_word<Number>; ++i) {
        if (sizeof(Stored) * static_cast<Extent>(i) < rest)
          word |= placed<Number>(reinterpret_cast<const Stored*>(from)[i], i);
      }
    }
    return word;
  }
  template <class Word>
  __device__ void store(int piece, Extent at, const Word& word) const {
    const Pieces& pieces = work_.pieces;
    const Extent rest = pieces.rest(piece, pieces.destination_step, at);
    std::byte* to = work_.destination + (pieces.destination_step * static_cast<Extent>(piece) + at);
    if constexpr (layout == Layout::vectors) {
      if (rest != 0) *reinterpret_cast<Word*>(to) = word;
    } else {
      for (int i = 0; i < per_word<Number>; ++i) {
        if (sizeof(Stored) * static_cast<Extent>(i) < rest)
          reinterpret_cast<Stored*>(to)[i] = element_of<Number>(word, i);
      }
    }
  }

  const PacketWork& work_;
};

/// Numbers (int32) that only this call has, and what must come of them: data of an earlier call do not pass. Writes
/// what it finds wrong into the member's workspace.
template <Combine combine>
class SelfCheckEnds {
 public:
  __device__ explicit SelfCheckEnds(const PacketWork& exchange) : work_(exchange) {}

  __device__ void begin(std::uint64_t call) { call_ = call; }
  __device__ void finish() { tally_.tell(workspace_of(work_.peers, work_.peers.me).notices); }

  __device__ std::uint64_t word(int piece, Extent at) const {
    const Extent index = (work_.pieces.source_step * static_cast<Extent>(piece) + at) / element;
    const auto number = [&](Extent i) {
      return static_cast<std::uint32_t>(input_element(call_, work_.pieces.me, i));
    };
    return number(index) | static_cast<std::uint64_t>(number(index + 1)) << 32U;
  }
  __device__ gpu::vendor::WordPair pair(int piece, Extent at) const {
    return {word(piece, at), word(piece, at + sizeof(std::uint64_t))};
  }
  __device__ void put_word(int piece, Extent at, std::uint64_t word) {
    for (unsigned i = 0; i < 2; ++i, at += element) {
      if (work_.pieces.rest(piece, work_.pieces.destination_step, at) == 0) continue;
      tally_.look(call_, static_cast<int>(word >> (32U * i)), expected(piece, at));
    }
  }
  __device__ void put_pair(int piece, Extent at, const gpu::vendor::WordPair& pair) {
    put_word(piece, at, pair.first);
    put_word(piece, at + sizeof(std::uint64_t), pair.second);
  }

 private:
  static constexpr Extent element = sizeof(std::uint32_t);

  __device__ int expected(int piece, Extent at) const {
    const Pieces& pieces = work_.pieces;
    const int from = combine == Combine::sum ? piece : pieces.me;
    const Extent index = (pieces.source_step * static_cast<Extent>(from) + at) / element;
    return combine == Combine::sum ? summed_element(call_, pieces.members, index)
                                   : input_element(call_, piece, index);
  }

  const PacketWork& work_;
  std::uint64_t call_ = 0;
  CheckCounters tally_;
};

}  // namespace linkscope::direct
