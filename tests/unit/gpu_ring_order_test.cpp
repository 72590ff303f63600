// The order of the pointer chase of a GPU is a permutation.
#include "backend/gpu/latency/ring_order.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace linkscope::gpu {
namespace {

TEST(RingOrder, VisitsEveryPlaceOnceAndThenGoesRound) {
  for (const std::uint64_t nodes : {1U, 2U, 3U, 5U, 100U, 4096U, 5000U}) {
    for (const std::uint64_t seed : {0U, 1U, 12345U}) {
      const RingOrder order = RingOrder::random(nodes, seed);
      std::vector<int> visits(nodes, 0);
      for (std::uint64_t step = 0; step < nodes; ++step) ++visits.at(order.place(step));
      EXPECT_EQ(visits, std::vector<int>(nodes, 1)) << nodes << " nodes, seed " << seed;
      EXPECT_EQ(order.place(nodes + 1), order.place(1));
    }
  }
}

TEST(RingOrder, OfPiecesVisitsEachCompletelyBeforeTheNext) {
  for (const auto& [nodes, pieces] :
       {std::pair<std::uint64_t, std::uint64_t>{1, 7}, {64, 1}, {64, 5}, {100, 32}}) {
    const RingOrder order = RingOrder::random(nodes, pieces, 9);
    ASSERT_EQ(order.nodes(), nodes * pieces);
    std::vector<int> visits(order.nodes(), 0);
    for (std::uint64_t step = 0; step < order.nodes(); ++step) {
      ++visits.at(order.place(step));
      EXPECT_EQ(order.place(step) / nodes, order.place(step / nodes * nodes) / nodes) << "still in its piece";
    }
    EXPECT_EQ(visits, std::vector<int>(order.nodes(), 1));
  }
}

TEST(RingOrder, OfPiecesTakesThemInNoOrderOfAddresses) {
  const RingOrder order = RingOrder::random(16, 1024, 4);
  int next = 0;
  for (std::uint64_t piece = 0; piece < 1024; ++piece)
    next += order.place(16 * (piece + 1)) / 16 == order.place(16 * piece) / 16 + 1 ? 1 : 0;
  EXPECT_LT(next, 20);
}

TEST(RingOrder, OfAnotherSeedIsAnotherOne) {
  const RingOrder one = RingOrder::random(4096, 1);
  const RingOrder two = RingOrder::random(4096, 2);
  int same = 0;
  for (std::uint64_t step = 0; step < 4096; ++step) same += one.place(step) == two.place(step) ? 1 : 0;
  EXPECT_LT(same, 40);
}

TEST(RingOrder, RandomHopsAreSeldomShort) {
  const RingOrder order = RingOrder::random(65536, 3);
  int near = 0;
  for (std::uint64_t step = 0; step < 65536; ++step) {
    const auto hop =
        static_cast<std::int64_t>(order.place(step + 1)) - static_cast<std::int64_t>(order.place(step));
    near += hop > -64 && hop < 64 ? 1 : 0;
  }
  EXPECT_LT(near, 65536 / 100);  // a truly random order has one in five hundred
}

}  // namespace
}  // namespace linkscope::gpu
