#include "backend/host/chase_order.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>

namespace linkscope::host {

namespace {

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
  std::iota(pieces.begin(), pieces.end(), 0U);
  std::mt19937_64 random(seed);
  std::shuffle(pieces.begin(), pieces.end(), random);

  order_.reserve(nodes);
  for (const std::uint64_t at : pieces) {
    const auto begin = static_cast<std::ptrdiff_t>(order_.size());
    const std::uint64_t end = std::min(nodes, (at + 1) * piece);
    for (std::uint64_t node = at * piece; node < end; ++node)
      order_.push_back(static_cast<std::uint32_t>(node));
    std::shuffle(order_.begin() + begin, order_.end(), random);
  }
}

}  // namespace linkscope::host
