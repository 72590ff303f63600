// Repeats from paces.
#include <gtest/gtest.h>

#include "measure/batch.hpp"

namespace linkscope {
namespace {

RateEstimate measured(Seconds time) { return {time, Role::measured, "", 1U << 30U}; }
RateEstimate background(Seconds time) { return {time, Role::background, "", 1U << 30U}; }

TEST(PlanRepeats, OneFlowFillsTheTarget) {
  EXPECT_EQ(plan_repeats({measured(3e-6)}, 100e-6), (Repeats{34}));
  EXPECT_EQ(plan_repeats({measured(10e-3)}, 100e-6), (Repeats{1}));
}

TEST(PlanRepeats, AlikeFlowsMoveEqualBytes) {
  EXPECT_EQ(plan_repeats({measured(10e-6), measured(8.1e-6)}, 100e-6), (Repeats{10, 10}));
}

TEST(PlanRepeats, UnlikeFlowsTakeEqualTime) {
  EXPECT_EQ(plan_repeats({measured(10e-6), measured(2e-6)}, 100e-6), (Repeats{10, 50}));
}

TEST(PlanRepeats, FlowsOfOneGroupMoveEqualBytesHoweverLongTheyWaitForOneAnother) {
  const auto kernel = [](Seconds time) { return RateEstimate{time, Role::measured, "push", 1U << 30U}; };
  EXPECT_EQ(plan_repeats({kernel(1e-3), kernel(2e-3), kernel(3e-3)}, 6e-3), (Repeats{2, 2, 2}));
}

TEST(PlanRepeats, FlowsOfOneCompanyRepeatAlikeBesideOthers) {
  const auto message = [](Seconds time, std::uint64_t most) {
    return RateEstimate{time, Role::measured, "", most, "calls"};
  };
  EXPECT_EQ(plan_repeats({message(1e-3, 64), message(2e-3, 64)}, 6e-3), (Repeats{3, 3}));
  EXPECT_EQ(plan_repeats({message(1e-3, 64), measured(8e-3), message(2e-3, 64)}, 8e-3), (Repeats{4, 1, 4}));
  RateEstimate load = background(1e-3);
  load.call_group = "calls";  // of its own role's
  EXPECT_EQ(plan_repeats({message(2e-3, 64), load}, 10e-3), (Repeats{5, 13}));
}

TEST(PlanRepeats, TheSampleGrowsUntilWholeNumbersFit) {
  // 1 : 1.5 does not go into single repeats; twice and thrice does.
  EXPECT_EQ(plan_repeats({measured(3e-3), measured(2e-3)}, 100e-6), (Repeats{2, 3}));
}

TEST(PlanRepeats, TheSampleGrowsFourfoldAtMost) {
  // Fivefold would leave 6 %, fourfold leaves 11 %.
  EXPECT_EQ(plan_repeats({measured(1.13e-3), measured(1e-3), measured(0.565e-3)}, 100e-6),
            (Repeats{4, 5, 8}));
}

TEST(PlanRepeats, BackgroundOutlastsTheMeasured) {
  const Repeats repeats = plan_repeats({measured(10e-6), background(1e-6)}, 100e-6);
  EXPECT_EQ(repeats, (Repeats{10, 130}));
}

TEST(PlanRepeats, AFiniteQueueShortensTheSample) {
  RateEstimate shallow = measured(1e-6);
  shallow.max_repeats = 20;
  EXPECT_EQ(plan_repeats({shallow}, 100e-6), (Repeats{20}));
  RateEstimate shallow_background = background(1e-6);
  shallow_background.max_repeats = 30;
  EXPECT_EQ(plan_repeats({measured(2e-6), shallow_background}, 100e-6), (Repeats{11, 29}));
}

TEST(PerTransferOf, AStartThatTakesMostOfTheTimeIsLeftOut) {
  EXPECT_NEAR(per_transfer_of({4.05e-3, 50}, TimedRepeats{4.01e-3, 10}), 4.05e-3 / 50 / 8, 1e-12)
      << "1 us by the difference, but one late thread could have made it";
  EXPECT_NEAR(per_transfer_of({6.05e-3, 2050}, TimedRepeats{4.05e-3, 50}), 1e-6, 1e-9);
}

TEST(PerTransferOf, AStartThatTakesLittleIsCountedAsEver) {
  EXPECT_NEAR(per_transfer_of({120e-6, 10}, TimedRepeats{30e-6, 1}), 12e-6, 1e-12);
  EXPECT_NEAR(per_transfer_of({120e-6, 10}, std::nullopt), 12e-6, 1e-12);
  EXPECT_NEAR(per_transfer_of({120e-6, 10}, TimedRepeats{900e-6, 10}), 12e-6, 1e-12);
}

TEST(PerTransferOf, OneSlowStartDoesNotPlanTheNext) {
  EXPECT_NEAR(per_transfer_of({50e-6, 5}, TimedRepeats{4e-3, 1}), 10e-6, 1e-12) << "the first one was late";
  EXPECT_NEAR(per_transfer_of({4e-3, 1}, TimedRepeats{50e-6, 5}), 10e-6, 1e-12) << "the last one was";
}

TEST(PlanRepeats, AClockThatReadsZeroIsNoDivisor) {
  EXPECT_GE(plan_repeats({measured(0)}, 100e-6).front(), 1000U);
}

TEST(PlanRepeats, TheShallowestQueueOfACompanyBoundsAllOfIt) {
  const auto message = [](Seconds time, std::uint64_t most) {
    return RateEstimate{time, Role::measured, "", most, "calls"};
  };
  EXPECT_EQ(plan_repeats({message(1e-3, 64), message(2e-3, 4)}, 60e-3), (Repeats{4, 4}));
}

}  // namespace
}  // namespace linkscope
