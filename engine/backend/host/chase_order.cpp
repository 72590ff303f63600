#include "backend/host/chase_order.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace linkscope::host {

namespace {

/// SplitMix64 (Steele, Lea, Flood, 2014): small, fast, the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// Uniform in [0, bound); bound < 2^32.
  std::uint32_t below(std::uint64_t bound) {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t word = state_;
    word = (word ^ (word >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    word = (word ^ (word >> 27U)) * 0x94D049BB133111EBULL;
    word ^= word >> 31U;
    return static_cast<std::uint32_t>(((word >> 32U) * bound) >> 32U);
  }

 private:
  std::uint64_t state_;
};

/// Fisher and Yates.
void shuffle(std::uint32_t* values, std::uint64_t count, Random& random) {
  for (std::uint64_t i = count; i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
}

/// The draws of multichase: glibc's random_r on 32 bytes of state, 16 bits of four numbers each.
class MultichaseDraws {
 public:
  MultichaseDraws() { initstate_r(1, state_.data(), state_.size(), &data_); }

  std::uint64_t below(std::uint64_t bound) {
    std::uint64_t word = 0;
    for (unsigned part = 0; part < 4; ++part) {
      std::int32_t number = 0;
      random_r(&data_, &number);
      word |= (static_cast<std::uint64_t>(number) & 0xFFFFU) << (16 * part);
    }
    return word % bound;
  }

 private:
  std::array<char, 32> state_{};
  random_data data_{};
};

/// Draws a permutation of `count` words as multichase does and returns its first element.
std::uint64_t first_of_permutation(std::uint64_t count, MultichaseDraws& draws) {
  std::uint64_t first = 0;
  for (std::uint64_t i = 0; i < count;
       ++i) {  // word i goes to a drawn place, what was there moves to place i
    if (draws.below(i + 1) == 0) first = i;
  }
  return first;
}

}  // namespace

ChaseOrder::ChaseOrder(const ChaseShape& shape, std::uint64_t seed) : stride_(shape.stride) {
  MultichaseDraws draws;
  for (Bytes& word : word_) word = first_of_permutation(shape.stride / sizeof(void*), draws) * sizeof(void*);

  const std::uint64_t nodes = shape.nodes();
  const std::uint64_t piece = std::clamp<std::uint64_t>(shape.locality / shape.stride, 1, nodes);
  std::vector<std::uint32_t> pieces((nodes + piece - 1) / piece);
  for (std::uint32_t i = 0; i < pieces.size(); ++i) pieces[i] = i;
  Random random(seed);
  shuffle(pieces.data(), pieces.size(), random);

  order_.reserve(nodes);
  for (const std::uint64_t at : pieces) {
    const std::uint64_t begin = order_.size();
    const std::uint64_t end = std::min(nodes, (at + 1) * piece);
    for (std::uint64_t node = at * piece; node < end; ++node)
      order_.push_back(static_cast<std::uint32_t>(node));
    shuffle(order_.data() + begin, order_.size() - begin, random);
  }
}

}  // namespace linkscope::host
