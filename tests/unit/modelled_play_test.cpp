// The virtual timeline, by hand: capacities in bytes per second, small numbers.
#include "backend/modelled/play.hpp"

#include <gtest/gtest.h>

namespace linkscope::modelled {
namespace {

LaneWork moving(Bytes bytes, std::uint64_t repeats = 1) {
  return {
      .demand = {.uses = {{0, 1}}}, .latency = 0, .bytes = bytes, .repeats = repeats, .role = Role::measured};
}

TEST(Play, OperationsFollowOneAnotherBackToBack) {
  LaneWork work = moving(100, 3);
  work.latency = 0.5;
  EXPECT_DOUBLE_EQ(play({work}, {50})[0], 3 * (0.5 + 2));
}

TEST(Play, LatencyAloneTakesNoLink) {
  const LaneWork chase{.demand = {}, .latency = 2, .bytes = 0, .repeats = 4, .role = Role::measured};
  const auto ends = play({chase, moving(100)}, {50});
  EXPECT_DOUBLE_EQ(ends[0], 8);
  EXPECT_DOUBLE_EQ(ends[1], 2);
}

TEST(Play, AFlowThatEndsReleasesItsShare) {
  // Both at 25 until 4 s; then 100 bytes are left for one flow alone at 50.
  const auto ends = play({moving(100), moving(200)}, {50});
  EXPECT_DOUBLE_EQ(ends[0], 4);
  EXPECT_DOUBLE_EQ(ends[1], 6);
}

TEST(Play, AFlowThatWaitsLeavesTheLinkToTheOthers) {
  // Alone at 50 for 1 s, then 25 each: the first needs 2 s more, the second has 50 bytes left, at 50.
  LaneWork late = moving(100);
  late.latency = 1;
  const auto ends = play({moving(100), late}, {50});
  EXPECT_DOUBLE_EQ(ends[0], 3);
  EXPECT_DOUBLE_EQ(ends[1], 4);
}

TEST(Play, LatencyBetweenRepeatsIsTimeForTheOther) {
  // The first moves 0.5 s, waits 0.5 s; the second takes the gaps.
  LaneWork gappy{
      .demand = {.uses = {{0, 1}}}, .latency = 1, .bytes = 25, .repeats = 2, .role = Role::measured};
  const auto ends = play({gappy, moving(1000)}, {50});
  EXPECT_DOUBLE_EQ(ends[0], 2 * (1 + 1));  // its 25 bytes move at 25 while the other moves as well
  EXPECT_DOUBLE_EQ(ends[1], (1000 + 50) / 50.0);
}

TEST(Play, BackgroundLastsExactlyAsLongAsTheMeasured) {
  LaneWork background = moving(10);
  background.role = Role::background;
  const auto ends = play({moving(100), background}, {50});
  EXPECT_DOUBLE_EQ(ends[0], 4);  // the short background flow never gives its half up
  EXPECT_DOUBLE_EQ(ends[1], 4);
  background.latency = 0.001;
  EXPECT_EQ(play({moving(100), background}, {50})[1], play({moving(100), background}, {50})[0]);
}

TEST(Play, BackgroundAloneCountsAsMeasured) {
  LaneWork background = moving(100, 2);
  background.role = Role::background;
  EXPECT_DOUBLE_EQ(play({background}, {50})[0], 4);
}

TEST(Play, ManyRepeatsOfManyFlowsEndTogetherWhereAllAreEqual) {
  LaneWork work = moving(1000, 1000);
  work.latency = 1e-3;
  const auto ends = play(std::vector<LaneWork>(8, work), {1e9});
  for (const Seconds end : ends) EXPECT_NEAR(end, 1000 * (1e-3 + 8e-6), 1e-9);
}

}  // namespace
}  // namespace linkscope::modelled
