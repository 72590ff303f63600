// ChaseOrder: one cycle over every node, local in pieces, reproducible.
#include "backend/host/chase_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace linkscope::host {
namespace {

class ChaseOrderOf : public ::testing::TestWithParam<ChaseShape> {};

TEST_P(ChaseOrderOf, VisitsEveryNodeOnceBeforeItReturns) {
  const ChaseShape shape = GetParam();
  const ChaseOrder order(shape, 3);
  ASSERT_EQ(order.size(), shape.nodes());
  std::vector<int> visits(shape.nodes(), 0);
  for (std::uint64_t step = 0; step < order.size(); ++step) ++visits[order.node(step)];
  EXPECT_EQ(std::count(visits.begin(), visits.end(), 1), static_cast<std::ptrdiff_t>(visits.size()));
  EXPECT_EQ(order.offset(order.size()), order.offset(0));
}

TEST_P(ChaseOrderOf, KeepsPointersAlignedAndInsideTheirNode) {
  const ChaseShape shape = GetParam();
  const ChaseOrder order(shape, 3);
  for (std::uint64_t step = 0; step < order.size(); ++step) {
    ASSERT_EQ(order.offset(step) % sizeof(void*), 0U);
    ASSERT_EQ(order.offset(step) / shape.stride, order.node(step));
    ASSERT_LE(order.offset(step) + sizeof(void*), shape.span);
  }
}

TEST_P(ChaseOrderOf, FinishesAPieceBeforeTheNext) {
  const ChaseShape shape = GetParam();
  const ChaseOrder order(shape, 3);
  std::set<Bytes> finished;
  Bytes piece = order.offset(0) / shape.locality;
  for (std::uint64_t step = 1; step < order.size(); ++step) {
    const Bytes now = order.offset(step) / shape.locality;
    if (now == piece) continue;
    EXPECT_TRUE(finished.insert(piece).second) << "came back to piece " << piece;
    piece = now;
  }
  EXPECT_FALSE(finished.contains(piece));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ChaseOrderOf,
    ::testing::Values(ChaseShape{512, 256, 256 * KiB}, ChaseShape{32 * KiB, 256, 256 * KiB},
                      ChaseShape{1 * MiB + 700, 256, 64 * KiB}, ChaseShape{100 * KiB, 8, 4096},
                      ChaseShape{600 * KiB, 64, 256 * KiB}, ChaseShape{1 * MiB, 4096, 64 * KiB}));

TEST(ChaseOrder, DependsOnTheSeedAlone) {
  const ChaseShape shape{1 * MiB};
  const ChaseOrder one(shape, 1);
  const ChaseOrder again(shape, 1);
  const ChaseOrder other(shape, 2);
  std::uint64_t same = 0;
  for (std::uint64_t step = 0; step < one.size(); ++step) {
    ASSERT_EQ(one.offset(step), again.offset(step));
    same += one.node(step) == other.node(step) ? 1 : 0;
  }
  EXPECT_LT(same, one.size() / 20);
}

TEST(ChaseOrder, GivesPrefetchersNoStep) {
  const ChaseOrder order(ChaseShape{4 * MiB}, 1);
  std::uint64_t neighbours = 0;
  for (std::uint64_t step = 0; step + 1 < order.size(); ++step) {
    neighbours += order.node(step + 1) == order.node(step) + 1 ? 1 : 0;
  }
  EXPECT_LT(neighbours, order.size() / 100);
}

}  // namespace
}  // namespace linkscope::host
