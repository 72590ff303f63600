// What a schedule must be, and the bytes of its messages.
#include "model/schedule.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace linkscope {
namespace {

/// Two chunks beside one another, of 4 x 3 cells each.
Schedule two_chunks() {
  Schedule schedule;
  schedule.ranks = 2;
  schedule.grid = CellGrid{8, 3, {{"cells", 0, 0}, {"corners", 1, 1}}, {{0, 0, 4, 3}, {4, 0, 4, 3}}};
  Phase phase{.name = "sides", .halo = HaloExchange{{0, 1}, 2, GridAxis::x}};
  const Bytes bytes = halo_bytes(*phase.halo, schedule.grid->chunks[0]);
  phase.messages = {{0, 1, bytes}, {1, 0, bytes}};
  schedule.loops = {{3, {phase}}};
  return schedule;
}

std::string complaint(const Schedule& schedule) {
  try {
    schedule.check();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::bad_input);
    return error.what();
  }
  return "";
}

TEST(ScheduleTest, AHaloMessageHasEightBytesForEachLayerAndCellOfTheSideAndFiveMore) {
  const Chunk chunk{0, 0, 100, 7};
  EXPECT_EQ(halo_bytes({{0, 1, 2, 3, 4}, 1, GridAxis::x}, chunk), 8U * 5 * (7 + 5));
  EXPECT_EQ(halo_bytes({{0, 1}, 2, GridAxis::y}, chunk), 8U * 4 * (100 + 5));
}

TEST(ScheduleTest, BytesCountEveryTimeThatAPhaseTakesPlace) {
  Schedule schedule = two_chunks();
  const Bytes each = 2 * schedule.loops[0].phases[0].messages[0].bytes;
  EXPECT_EQ(schedule.bytes(), 3 * each);
  schedule.loops[0].phases[0].every = 2;
  EXPECT_EQ(schedule.bytes(), each);
}

TEST(ScheduleTest, WhatIsRightIsTaken) { EXPECT_EQ(complaint(two_chunks()), ""); }

TEST(ScheduleTest, WhatIsWrongIsNamedWithItsPhase) {
  Schedule schedule = two_chunks();
  schedule.loops[0].phases[0].messages[1].bytes += 8;
  EXPECT_NE(complaint(schedule).find("schedule.loops[0].phases[0]"), std::string::npos);
  schedule = two_chunks();
  schedule.loops[0].phases[0].messages[0].destination = 2;
  EXPECT_NE(complaint(schedule), "");
  schedule = two_chunks();
  schedule.loops[0].phases[0].messages[0].source = 1;
  EXPECT_NE(complaint(schedule), "");
  schedule = two_chunks();
  schedule.loops[0].phases[0].halo->fields = {0, 2};
  EXPECT_NE(complaint(schedule), "");
  schedule = two_chunks();
  schedule.grid->chunks[1].columns = 5;
  EXPECT_NE(complaint(schedule), "");
}

/// Two ranks of ten particles, of which the first sends four.
Schedule two_stores() {
  Schedule schedule;
  schedule.ranks = 2;
  schedule.particles = ParticleDeck{{10, 10}, {{1}, {0}}, 4};
  schedule.loops = {
      {1, {Phase{.name = "pass", .messages = {{0, 1, 8 + 4 * 136}}, .termination = Termination::blocking}}}};
  return schedule;
}

TEST(ScheduleTest, AMessageOfParticlesHasAHeaderAndWholeOnesAtMostABatch) {
  Schedule schedule = two_stores();
  EXPECT_EQ(complaint(schedule), "");
  for (const Bytes bytes : {8U, 8U + 5 * 136, 8U + 136 + 1, 136U}) {
    schedule.loops[0].phases[0].messages[0].bytes = bytes;
    EXPECT_NE(complaint(schedule), "") << bytes;
  }
}

TEST(ScheduleTest, ParticlesThatNobodyTakesAreRejected) {
  Schedule schedule = two_stores();
  schedule.particles->neighbours = {{1}, {}};
  EXPECT_NE(complaint(schedule), "");
  for (const int neighbour : {-1, 1, 2}) {
    schedule.particles->neighbours = {{1}, {0, neighbour}};
    EXPECT_NE(complaint(schedule), "") << neighbour;
  }
  schedule = two_stores();
  schedule.loops[0].phases[0].termination = Termination::none;
  EXPECT_NE(complaint(schedule), "");
  schedule = two_stores();
  schedule.loops[0].repeats = 2;
  schedule.loops[0].phases[0].every = 2;
  EXPECT_NE(complaint(schedule), "");
}

TEST(ScheduleTest, NoSumOfSizesIsTooLargeForItsNumber) {
  const std::uint64_t huge = std::uint64_t{1} << 63U;
  Schedule schedule = two_chunks();
  schedule.grid->chunks[1].x = ~std::uint64_t{0} - 2;  // its end is inside again
  EXPECT_NE(complaint(schedule), "");
  schedule = two_chunks();
  schedule.grid->columns = schedule.grid->rows = huge;
  schedule.loops[0].phases[0].messages.clear();
  EXPECT_EQ(complaint(schedule), "");
  schedule.grid->chunks[0].columns = schedule.grid->chunks[0].rows = std::uint64_t{1} << 31U;
  EXPECT_NE(complaint(schedule), "");
  schedule.grid->chunks[0] = {0, 0, huge, 1};
  EXPECT_NE(complaint(schedule), "");
  schedule = two_chunks();
  schedule.loops[0].repeats = huge;
  EXPECT_NE(complaint(schedule), "");
  schedule = two_stores();
  schedule.particles->stock = {huge, huge};
  EXPECT_NE(complaint(schedule), "");
  schedule = two_stores();
  schedule.particles->batch = huge / 68;
  EXPECT_NE(complaint(schedule), "");
}

TEST(ScheduleTest, BothRanksOfAHaloMessageHaveItsSide) {
  Schedule schedule = two_chunks();
  schedule.grid->chunks[1].rows = 2;
  schedule.loops[0].phases[0].messages.pop_back();
  EXPECT_NE(complaint(schedule), "");
}

}  // namespace
}  // namespace linkscope
