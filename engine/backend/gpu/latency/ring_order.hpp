// RingOrder: which node of a pointer chase comes when. constexpr, so that one definition serves the host and the
// device.
#pragma once

#include <cstdint>

namespace linkscope::gpu {

/// A bijection on `count` numbers, scattered: on the next power of two (multiply and fold, four times), walked on from
/// where it leaves the range. Without bits it leaves every number where it is.
struct Scatter {
  std::uint64_t count = 1;
  std::uint64_t seed = 0;
  unsigned bits = 0;  ///< of the power of two

  static constexpr Scatter over(std::uint64_t count, std::uint64_t seed) {
    unsigned bits = 2;
    while (bits < 63 && (1ULL << bits) < count) ++bits;
    return {count, seed, bits};
  }

  /// The place of `index`, which is below the count.
  [[nodiscard]] constexpr std::uint64_t place(std::uint64_t index) const {
    if (bits == 0) return index;
    do {
      index = fold(index);
    } while (index >= count);
    return index;
  }

 private:
  [[nodiscard]] constexpr std::uint64_t fold(std::uint64_t x) const {
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

/// A ring over places: step k stands at place(k). In address order, or scattered; then piece by piece, each visited
/// completely before the next, the pieces in scattered order too.
struct RingOrder {
  Scatter pieces;
  Scatter within;  ///< a piece

  [[nodiscard]] constexpr std::uint64_t nodes() const { return pieces.count * within.count; }

  /// The ring of `nodes` places, at least one.
  static constexpr RingOrder sequential(std::uint64_t nodes) { return {{}, {nodes, 0, 0}}; }
  static constexpr RingOrder random(std::uint64_t nodes, std::uint64_t seed) {
    return random(nodes, 1, seed);
  }
  /// The ring of `pieces` pieces with `nodes` places each.
  static constexpr RingOrder random(std::uint64_t nodes, std::uint64_t pieces, std::uint64_t seed) {
    return {pieces > 1 ? Scatter::over(pieces, ~seed) : Scatter{}, Scatter::over(nodes, seed)};
  }

  /// Place of step `step`, which may be any number: the ring goes round.
  [[nodiscard]] constexpr std::uint64_t place(std::uint64_t step) const {
    const std::uint64_t at = step % nodes();
    return pieces.place(at / within.count) * within.count + within.place(at % within.count);
  }
};

}  // namespace linkscope::gpu
