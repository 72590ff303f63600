// Runs of neighbouring slots are exactly the slots of the turns, each once.
#include "backend/gpu/copy/slot_runs.hpp"

#include <gtest/gtest.h>

#include <set>

namespace linkscope::gpu {
namespace {

using Runs = std::array<SlotRun, 2>;

TEST(SlotRuns, AreTheSlotsOfTheTurnsEachOnce) {
  for (const std::uint64_t slots : {1U, 2U, 5U, 32U}) {
    for (std::uint64_t from = 0; from <= 3 * slots; ++from) {
      for (std::uint64_t to = from; to <= from + 2 * slots; ++to) {
        std::multiset<std::uint64_t> expected;
        for (std::uint64_t turn = from; turn < to && turn < from + slots; ++turn)
          expected.insert(turn % slots);
        std::multiset<std::uint64_t> found;
        for (const SlotRun& run : slot_runs(from, to, slots)) {
          for (std::uint64_t i = 0; i < run.count; ++i) found.insert(run.first + i);
        }
        EXPECT_EQ(found, expected) << from << " to " << to << " of " << slots;
      }
    }
  }
}

TEST(SlotRuns, AreTwoOnlyWhereTheTurnsGoRound) {
  EXPECT_EQ(slot_runs(3, 7, 8), (Runs{SlotRun{3, 4}, SlotRun{0, 0}}));
  EXPECT_EQ(slot_runs(6, 9, 8), (Runs{SlotRun{6, 2}, SlotRun{0, 1}}));
  EXPECT_EQ(slot_runs(5, 5, 8), (Runs{SlotRun{5, 0}, SlotRun{0, 0}}));
  EXPECT_EQ(slot_runs(5, 25, 8), (Runs{SlotRun{0, 8}, SlotRun{0, 0}}));
}

}  // namespace
}  // namespace linkscope::gpu
