// ChaseOrder: which node of a pointer chase comes when. One definition for host and device.
#pragma once

#include <cstdint>

#include "backend/gpu/vendor.hpp"

namespace linkscope::gpu {

/// A ring over `nodes` places: step k stands at place(k). Either in address order, or scattered by a bijection on the
/// next power of two (multiply and fold, four times), walked on from where it leaves the range.
struct ChaseOrder {
  std::uint64_t nodes = 1;
  std::uint64_t seed = 0;
  unsigned bits = 0;  ///< of the power of two; 0: address order

  /// Of `nodes` places, at least one.
  static ChaseOrder sequential(std::uint64_t nodes) { return {nodes, 0, 0}; }
  static ChaseOrder random(std::uint64_t nodes, std::uint64_t seed) {
    unsigned bits = 2;
    while (bits < 63 && (1ULL << bits) < nodes) ++bits;
    return {nodes, seed, bits};
  }

  /// Place of step `step`, which may be any number: the ring goes round.
  [[nodiscard]] __host__ __device__ std::uint64_t place(std::uint64_t step) const {
    std::uint64_t at = step % nodes;
    if (bits == 0) return at;
    do {
      at = scatter(at);
    } while (at >= nodes);
    return at;
  }

 private:
  [[nodiscard]] __host__ __device__ std::uint64_t scatter(std::uint64_t x) const {
    const std::uint64_t mask = (1ULL << bits) - 1;
    std::uint64_t key = seed;
    for (int round = 0; round < 4; ++round) {
      key = key * 0x9E3779B97F4A7C15ULL + 0xD1B54A32D192ED03ULL;
      x = ((x + (key >> 7U)) * (key | 1U)) & mask;  // adding and multiplying by an odd number: bijections
      x ^= x >> (bits / 2 + 1);                     // folding high bits into low ones: one too
    }
    return x;
  }
};

}  // namespace linkscope::gpu
