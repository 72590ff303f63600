// A whole case on stated times: samples, figures, verification, budget.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "measured_case.hpp"

namespace linkscope {
namespace {

TEST_F(MeasureCase, ASteadyFlowGivesItsRate) {
  FakeTransfer transfer(10e-6);
  const CaseResult result = run({measured(transfer)});
  ASSERT_EQ(result.flows.size(), 1U);
  EXPECT_EQ(result.flows[0].repeats, 10U) << "0.1 ms a sample";
  EXPECT_EQ(result.flows[0].samples_s.size(), 6U);
  EXPECT_NEAR(result.flows[0].seconds.median, 10e-6, 1e-12);
  EXPECT_NEAR(result.flows[0].gbps->median, 100.0, 1e-4);
  EXPECT_NEAR(result.aggregate->gbps.median, 100.0, 1e-4);
  EXPECT_EQ(result.stopped, Stop::precision);
}

TEST_F(MeasureCase, AnAggregateHoldsTheBarriersThatAFlowsOwnTimeDoesNot) {
  FakeTransfer one(10e-6);
  FakeTransfer other(10e-6);
  one.between = other.between = 10e-6;
  const CaseResult result = run({measured(one), measured(other)});
  EXPECT_NEAR(result.flows[0].gbps->median, 100.0, 1e-4);
  EXPECT_NEAR(result.aggregate->gbps.median, 100.0, 1e-4) << "two flows in twice the time";
}

TEST_F(MeasureCase, OneWarmUpIsEnoughWhereItTakesAllTheTimeOfTheSamples) {
  session.options.point_budget_s = 0.4;
  FakeTransfer longer(0.5);
  run({measured(longer)});
  EXPECT_EQ(gate.runs, 1 + 6) << "one start may have been slow by itself: as many as give an interval";
  gate.runs = 0;
  FakeTransfer shorter(0.2);
  run({measured(shorter)});
  EXPECT_EQ(gate.runs, 2 + 3) << "two warm-ups";
  gate.runs = 0;
  int starts = 0;
  FakeTransfer slow_at_first([&] { return ++starts == 1 ? 0.3 : 10e-6; });
  EXPECT_EQ(run({measured(slow_at_first)}).flows[0].repeats, 10U) << "the second one sets the repeats";
}

TEST_F(MeasureCase, ACaseMayAskForLongerSamples) {
  FakeTransfer transfer(10e-6);
  regime.min_sample_s = 2e-3;
  EXPECT_EQ(run({measured(transfer)}).flows[0].repeats, 200U);
}

TEST_F(MeasureCase, TheClocksResolutionSetsTheBatch) {
  FakeTransfer transfer(10e-6);
  gate.finest = 1e-3;
  EXPECT_EQ(run({measured(transfer)}).flows[0].repeats, 100U);
}

TEST_F(MeasureCase, ALatencyIsPerOperationAndHasNoRate) {
  FakeTransfer transfer(1e-3);
  transfer.own_facts().operations = 1000;
  const CaseResult result = run({{{{&transfer}}, 64, Role::measured, Quantity::latency, "", {}}});
  EXPECT_NEAR(result.flows[0].seconds.median, 1e-6, 1e-12);
  EXPECT_FALSE(result.flows[0].gbps);
  EXPECT_FALSE(result.aggregate);
}

TEST_F(MeasureCase, AFlowsTimeIsTheMeanOfItsTimedParts) {
  FakeTransfer first(10e-6);
  FakeTransfer second(20e-6);
  FakeTransfer answers(90e-6);
  for (FakeTransfer* part : {&first, &second, &answers}) part->own_facts().operations = 2;
  MeasuredFlow flow = measured(first);
  flow.parts.push_back({&answers, Timing::untimed});
  flow.parts.push_back({&second});
  const CaseResult result = run({flow});
  EXPECT_NEAR(result.flows[0].seconds.median, 7.5e-6, 1e-12);
  ASSERT_EQ(result.flows[0].parts_s.size(), 2U);
  EXPECT_NEAR(result.flows[0].parts_s[0], 5e-6, 1e-12);
  EXPECT_NEAR(result.flows[0].parts_s[1], 10e-6, 1e-12);
  EXPECT_EQ(answers.armed, first.armed) << "every part is armed, and with one seed";
}

TEST_F(MeasureCase, AFlowsTimeMayBeThatOfItsSlowestPart) {
  FakeTransfer first(20e-6);
  FakeTransfer second(10e-6);
  MeasuredFlow flow = measured(first);
  flow.parts.push_back({&second});
  flow.time = PartsTime::longest;
  const CaseResult result = run({flow});
  EXPECT_NEAR(result.flows[0].seconds.median, 20e-6, 1e-12);
  EXPECT_EQ(result.flows[0].parts_s.size(), 2U);
}

TEST_F(MeasureCase, TheAggregateSpansFirstStartToLastEnd) {
  FakeTransfer fast(10e-6);
  FakeTransfer slow(12e-6);
  const CaseResult result = run({measured(fast), measured(slow)});
  EXPECT_EQ(result.flows[0].repeats, result.flows[1].repeats) << "within 20 %: equal bytes";
  EXPECT_NEAR(result.aggregate->gbps.median, 2.0 / 12e-6 * 1e-3, 1e-3);
  EXPECT_NEAR(result.aggregate->overlap, 10.0 / 12.0, 1e-6);
}

TEST_F(MeasureCase, RoundsAndFlowsHaveTheirOwnSeeds) {
  FakeTransfer first(10e-6);
  FakeTransfer second(10e-6);
  const CaseResult result = run({measured(first), measured(second)});
  std::set<std::uint64_t> seeds(first.armed.begin(), first.armed.end());
  seeds.insert(second.armed.begin(), second.armed.end());
  EXPECT_EQ(seeds.size(), 4U);
  EXPECT_EQ(result.passes, 2);
  EXPECT_EQ(result.verified_bytes, 4 * 1024U);
}

TEST_F(MeasureCase, AMismatchInEitherRoundFails) {
  for (const std::size_t round : {1U, 2U}) {
    FakeTransfer good(10e-6);
    FakeTransfer bad(10e-6);
    bad.wrong_in_round = round;
    try {
      run({measured(good), measured(bad)});
      FAIL() << "round " << round;
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::mismatch);
      EXPECT_STREQ(error.what(), "flow 1: byte 64 of 1024 arrived wrong [wrong-data]");
    }
  }
}

TEST_F(MeasureCase, WhereTransfersAddUpOnlyThoseMadeOneByOneAreChecked) {
  FakeTransfer other(10e-6);
  FakeTransfer transfer(10e-6);
  transfer.own_facts().accumulates = true;
  for (const Load load : {Load::once, Load::sustained}) {
    transfer.armed.clear();
    const CaseResult result = run({measured(other), measured(transfer)}, Cache::rotated, load);
    EXPECT_EQ(transfer.armed.size(), 5U);
    EXPECT_EQ(result.verified_bytes, 5 * 1024U) << "the other flow's repeats, as ever";
    EXPECT_TRUE(result.flows[0].notes.empty());
    ASSERT_EQ(result.flows[1].notes.size(), 1U);
    EXPECT_EQ(result.flows[1].notes[0],
              "changes its input: separate calls were checked, not the repeated ones");
  }
  transfer.armed.clear();
  transfer.wrong_in_round = 4;  // the last of those
  EXPECT_THROW(run({measured(transfer)}), Error);
}

TEST_F(MeasureCase, FlushedTakesOneRepeatAndFlushesBeforeEach) {
  FakeTransfer transfer(1e-6);
  const CaseResult result = run({measured(transfer)}, Cache::flushed);
  EXPECT_EQ(result.flows[0].repeats, 1U);
  EXPECT_EQ(transfer.flushes, gate.runs);
}

TEST_F(MeasureCase, NoOtherCachesAreFlushed) {
  FakeTransfer transfer(1e-6);
  run({measured(transfer)}, Cache::warm);
  run({measured(transfer)}, Cache::rotated);
  EXPECT_EQ(transfer.flushes, 0);
}

TEST_F(MeasureCase, ANoisyFlowSpendsItsBudgetAndSaysSo) {
  FakeTransfer transfer([this] { return gate.runs % 2 == 0 ? 50e-3 : 80e-3; });
  const CaseResult result = run({measured(transfer)});
  EXPECT_EQ(result.stopped, Stop::budget);
  EXPECT_GE(result.flows[0].samples_s.size(), 30U);
  EXPECT_LE(result.flows[0].samples_s.size(), 33U) << "2 s of 65 ms each";
}

TEST_F(MeasureCase, ACaseMayBeContentWithLessSamplingThanTheRunAllowsNeverWithMore) {
  FakeTransfer transfer([this] { return gate.runs % 2 == 0 ? 50e-3 : 80e-3; });
  regime.point_budget_s = 0.4;
  EXPECT_EQ(run({measured(transfer)}).flows[0].samples_s.size(), 7U) << "0.4 s of 65 ms each";
  regime.point_budget_s = 9;
  EXPECT_LE(run({measured(transfer)}).flows[0].samples_s.size(), 33U) << "the run's 2 s";
}

TEST_F(MeasureCase, ASlowFlowEndsWithTheBudgetAndFewSamples) {
  FakeTransfer transfer(1.0);
  const CaseResult result = run({measured(transfer)});
  EXPECT_EQ(result.stopped, Stop::budget);
  EXPECT_EQ(result.flows[0].samples_s.size(), 3U);
  ASSERT_FALSE(result.flows[0].notes.empty());
}

/// As the machine with a late thread has it: 4 ms in the first starts, whatever their repeats.
TEST_F(MeasureCase, SlowFirstStartsAreNoSlowTransfers) {
  FakeTransfer transfer(10e-6);
  int starts = 0;
  transfer.interference = [&] { return ++starts <= 10 ? Interference{4e-3, 4e-3, 1} : Interference{}; };
  regime.point_budget_s = 0.1;  // the warm-up ends among the slow starts
  const CaseResult result = run({measured(transfer)});
  EXPECT_GE(result.kept_waiting, 1U);
  EXPECT_GE(result.flows[0].repeats, 9U) << "one repeat in 4 ms is no transfer of 4 ms";
  EXPECT_NEAR(result.flows[0].seconds.median, 10e-6, 1e-9);
}

TEST_F(MeasureCase, WhereEveryStartIsSlowRepeatsMakeUpForIt) {
  FakeTransfer transfer(10e-6);
  transfer.interference = [] { return Interference{0, 4e-3}; };
  regime.min_sample_s = 5e-3;
  const CaseResult result = run({measured(transfer)});
  EXPECT_GE(result.flows[0].repeats, 400U) << "of the 5 ms, most are transfers";
}

/// As in the case before, but no thread tells of it.
TEST_F(MeasureCase, WhereStartsTakeMostOfTheTimeTwoOfThemSetTheRepeats) {
  FakeTransfer transfer([this] { return 10e-6 + 4e-3 / static_cast<double>(gate.held[0].repeats); });
  regime.min_sample_s = 5e-3;
  EXPECT_GE(run({measured(transfer)}).flows[0].repeats, 250U) << "one start alone would say two";
}

TEST_F(MeasureCase, RepeatsThatSamplesProveWrongArePlannedAgain) {
  FakeTransfer transfer([this] { return gate.runs <= 4 ? 90e-6 : 1e-6; });
  const CaseResult result = run({measured(transfer)});
  EXPECT_EQ(result.flows[0].repeats, 100U);
  for (const Seconds sample : result.flows[0].samples_s) EXPECT_NEAR(sample, 1e-6, 1e-12);
}

TEST_F(MeasureCase, RepeatsArePlannedAgainWhereAQuarterOfTheSamplesIsTooShort) {
  constexpr int warm_ups = 3;
  for (const int quick : {4, 5}) {
    gate.runs = 0;
    FakeTransfer transfer([&] { return gate.runs == warm_ups + quick ? 5e-6 : 10e-6; });
    const CaseResult result = run({measured(transfer)});
    EXPECT_EQ(result.flows[0].repeats, quick == 4 ? 20U : 10U);
    EXPECT_EQ(result.flows[0].samples_s.size(), quick == 4 ? 6U : 9U) << "the series began anew, or went on";
  }
}

TEST_F(MeasureCase, RepeatsArePlannedAgainFourTimesAtMost) {
  FakeTransfer transfer([this] { return 10e-6 / (1 << std::clamp(gate.runs - 3, 0, 8)); });
  EXPECT_EQ(run({measured(transfer)}).flows[0].repeats, 160U) << "of ten, doubled four times";
}

TEST_F(MeasureCase, TwoStallsThatAreApartCount) {
  FakeTransfer transfer([this] { return gate.runs == 5 || gate.runs == 7 ? 100e-6 : 10e-6; });
  EXPECT_NEAR(run({measured(transfer)}).flows[0].seconds.max, 100e-6, 1e-9);
}

TEST_F(MeasureCase, OneStallDoesNotMakeSamplesShort) {
  FakeTransfer transfer([this] { return gate.runs == 6 ? 1e-3 : 10e-6; });
  const CaseResult result = run({measured(transfer)});
  EXPECT_EQ(result.flows[0].repeats, 10U);
  EXPECT_NEAR(result.flows[0].seconds.max, 1e-3, 1e-9) << "it counts";
}

TEST_F(MeasureCase, SamplesWhoseThreadsWaitedForCpusDoNotCountAndAreCounted) {
  FakeTransfer transfer(10e-6);
  transfer.interference = [this] {
    return gate.runs % 3 == 0 ? Interference{40e-6, 40e-6, 1} : Interference{};
  };
  const CaseResult result = run({measured(transfer)});
  EXPECT_GE(result.kept_waiting, 2U);
  EXPECT_NEAR(result.flows[0].seconds.max, 10e-6, 1e-12);
  EXPECT_EQ(result.interference.switches, 0U) << "of those that count";
}

TEST_F(MeasureCase, WhereTheMachineAlwaysLendsItsCpusAllSamplesCount) {
  FakeTransfer transfer(10e-6);
  transfer.interference = [] { return Interference{40e-6, 0, 1}; };
  const CaseResult result = run({measured(transfer)});
  EXPECT_EQ(result.kept_waiting, 0U);
  EXPECT_GE(result.flows[0].samples_s.size(), 11U);
  EXPECT_EQ(result.interference.switches, result.flows[0].samples_s.size());
  EXPECT_NEAR(result.interference.waited, 40e-6, 1e-12);
}

/// One of two repeats waits and is put aside, before a series of a hundred repeats begins anew.
TEST_F(MeasureCase, WhatWasPutAsideBeforeRepeatsWerePlannedAgainNeverCounts) {
  constexpr std::uint64_t of_the_old_plan = 1000;
  FakeTransfer transfer([this] { return gate.runs <= 4 ? 90e-6 : 1e-6; });
  std::uint64_t put_aside = 0;
  transfer.interference = [&] {
    if (gate.held[0].repeats == 100) return Interference{40e-6, 0, 1};
    if (gate.runs != 5) return Interference{};
    ++put_aside;
    return Interference{40e-6, 0, of_the_old_plan};
  };
  const CaseResult result = run({measured(transfer)});
  ASSERT_EQ(put_aside, 1U);
  EXPECT_EQ(result.kept_waiting, 0U) << "all wait, so all of the new plan count";
  EXPECT_EQ(result.interference.switches, result.flows[0].samples_s.size());
}

TEST_F(MeasureCase, ALatencyBesideABandwidthIsWatchedTooWhicheverComesFirst) {
  session.options.max_samples = 12;
  for (const bool steady_first : {false, true}) {
    FakeTransfer steady(100e-6);
    int starts = 0;
    FakeTransfer noisy([&] { return ++starts % 2 == 0 ? 95e-6 : 105e-6; });
    MeasuredFlow latency = measured(noisy);
    latency.quantity = Quantity::latency;
    const std::vector<MeasuredFlow> flows =
        steady_first ? std::vector{measured(steady), latency} : std::vector{latency, measured(steady)};
    EXPECT_EQ(run(flows).stopped, Stop::samples) << steady_first;
  }
}

/// One that does nothing is seen in a start of its own alone.
TEST_F(MeasureCase, WhereStartsAreCheckedSomeHaveOneTransfer) {
  FakeTransfer transfer(10e-6);
  run({measured(transfer)});
  EXPECT_EQ(gate.held[0].repeats, 10U);
  transfer.own_facts().checks_starts = true;
  EXPECT_EQ(run({measured(transfer)}).flows[0].repeats, 10U);
  EXPECT_EQ(gate.held[0].repeats, 1U) << "the last ones";
}

TEST_F(MeasureCase, WhereEveryStartHasOneTransferNoneIsMadeBesides) {
  FakeTransfer transfer(1e-3);
  run({measured(transfer)});
  const int starts = std::exchange(gate.runs, 0);
  transfer.own_facts().checks_starts = true;
  run({measured(transfer)});
  EXPECT_EQ(gate.runs, starts);
}

TEST_F(MeasureCase, UnlikeFlowsRunForTheSameTime) {
  FakeTransfer fast(1e-6);
  FakeTransfer slow(10e-6);
  const CaseResult result = run({measured(fast), measured(slow)});
  EXPECT_EQ(result.flows[0].repeats, 10 * result.flows[1].repeats);
  EXPECT_NEAR(result.aggregate->overlap, 1.0, 1e-6);
}

TEST_F(MeasureCase, ATunedShapeStandsInTheResult) {
  FakeTransfer transfer(10e-6);
  transfer.own_facts().candidates = {{{"blocks", 1}}, {{"blocks", 2}}};
  transfer.time = [&transfer] { return transfer.used == transfer.facts().candidates[1] ? 5e-6 : 10e-6; };
  const CaseResult result = run({measured(transfer)});
  EXPECT_EQ(result.flows[0].setting, transfer.facts().candidates[1]);
  EXPECT_EQ(result.flows[0].tried.size(), 2U);
  EXPECT_NEAR(result.flows[0].gbps->median, 200.0, 1e-3);
}

TEST_F(MeasureCase, AShapeThatWasDiscardedIsNotedAndMemoryIsArmedAnew) {
  FakeTransfer transfer(10e-6);
  transfer.own_facts().candidates = {{{"blocks", 1}}, {{"blocks", 2}}};
  transfer.faulty = transfer.facts().candidates[0];
  MeasuredFlow one = measured(transfer);
  one.notes = {"repeats one slot"};
  const CaseResult result = run({one});
  EXPECT_EQ(result.flows[0].setting, transfer.facts().candidates[1]);
  ASSERT_GE(result.flows[0].notes.size(), 2U);
  EXPECT_EQ(result.flows[0].notes[0], "repeats one slot");
  EXPECT_EQ(result.flows[0].notes[1], "discarded in tuning: blocks 1: member 1 did not come");
  EXPECT_EQ(transfer.armed.size(), 3U) << "after tuning too";
}

TEST_F(MeasureCase, WaitsOfLessThanAnInterruptOrAHundredthCount) {
  FakeTransfer transfer(10e-6);
  transfer.interference = [] { return Interference{5e-6, 0, 1}; };
  EXPECT_EQ(run({measured(transfer)}).flows[0].samples_s.size(), 6U) << "5% of 0.1 ms";
  FakeTransfer longer(10e-3);
  longer.interference = [] { return Interference{40e-6, 0, 1}; };
  EXPECT_EQ(run({measured(longer)}).flows[0].samples_s.size(), 6U) << "0.4% of 10 ms";
}

TEST_F(MeasureCase, CallsOfACollectiveAreAlsoCheckedOneByOne) {
  FakeTransfer transfer(10e-6);
  transfer.own_facts().collective = true;
  EXPECT_EQ(run({measured(transfer)}).verified_bytes, 5 * 1024U) << "two passes and three calls";
  transfer.armed.clear();
  transfer.wrong_in_round = 3;  // one of the calls
  EXPECT_THROW(run({measured(transfer)}), Error);
}

TEST_F(MeasureCase, TheFirstWarmSampleIsNotTheOneAfterArming) {
  FakeTransfer transfer(10e-6);
  transfer.time = [&] { return transfer.transfers == gate.held[0].repeats ? 20e-6 : 10e-6; };
  EXPECT_NEAR(run({measured(transfer)}, Cache::warm).flows[0].seconds.max, 10e-6, 1e-12);
}

TEST_F(MeasureCase, CallsInARowEndWithTheBudget) {
  FakeTransfer transfer(10e-6);
  transfer.own_facts().calls_in_a_row = 20;
  EXPECT_EQ(run({measured(transfer)}).flows[0].repeats, 20U);
  FakeTransfer longer(0.1);
  longer.own_facts().calls_in_a_row = 20;
  EXPECT_EQ(run({measured(longer)}).flows[0].repeats, 3U) << "an eighth of 2 s";
}

/// Loses as much of a CPU in every start, and lost some before.
class RobbedGate final : public FakeGate {
 public:
  [[nodiscard]] Seconds stolen() const override { return 100 + 1e-3 * runs; }
};

TEST_F(MeasureCase, WhatWasStolenIsOfTheSamplesAlone) {
  RobbedGate robbed;
  FakeTransfer transfer(10e-6);
  const CaseResult result = measure_case(session, robbed, {measured(transfer)}, regime);
  EXPECT_NEAR(result.stolen, 1e-3 * static_cast<double>(result.flows[0].samples_s.size()), 1e-9);
}

TEST_F(MeasureCase, ARateIsOfAllOperations) {
  FakeTransfer transfer(10e-6);
  transfer.own_facts().operations = 4;
  EXPECT_NEAR(run({measured(transfer)}).flows[0].gbps->median, 400.0, 1e-3);
}

TEST_F(MeasureCase, SwitchesAreThoseOfAllParts) {
  FakeTransfer first(10e-6);
  FakeTransfer second(10e-6);
  first.interference = [] { return Interference{0, 0, 2}; };
  MeasuredFlow flow = measured(first);
  flow.parts.push_back({&second});
  const CaseResult result = run({flow});
  EXPECT_EQ(result.interference.switches, 2 * result.flows[0].samples_s.size());
}

TEST_F(MeasureCase, WarmUpsGoOnUntilTwoAgree) {
  FakeTransfer transfer([this] { return gate.runs <= 2 ? 11.5e-6 : 10.5e-6; });
  run({measured(transfer)});
  EXPECT_EQ(gate.runs, 4 + 6) << "one of one repeat, two that differ by 9%, and one like the last";
}

TEST_F(MeasureCase, EachFlowHasTheRemarksOfItsOwnSamples) {
  FakeTransfer steady(100e-6);
  FakeTransfer slowing([this] { return 100e-6 * (1 + 0.005 * gate.runs); });
  session.options.max_samples = 12;
  MeasuredFlow latency = measured(slowing);
  latency.quantity = Quantity::latency;
  const CaseResult result = run({measured(steady), latency});
  EXPECT_TRUE(result.flows[0].notes.empty());
  ASSERT_EQ(result.flows[1].notes.size(), 1U);
  EXPECT_EQ(result.flows[1].notes[0].find("drift"), 0U);
}

TEST_F(MeasureCase, TheMedianDistanceOfStartsIsTold) {
  FakeTransfer transfer(10e-6);
  transfer.interference = [this] { return Interference{0, gate.runs == 6 ? 3e-6 : 1e-6, 0}; };
  EXPECT_NEAR(run({measured(transfer)}).interference.apart, 1e-6, 1e-12);
}

TEST_F(MeasureCase, TheLongestWaitOfAllSamplesIsTold) {
  FakeTransfer transfer(10e-6);
  transfer.interference = [this] { return Interference{9e-6 / gate.runs, 0, 0}; };
  const CaseResult result = run({measured(transfer)});
  EXPECT_NEAR(result.interference.waited, 9e-6 / (gate.runs - 5), 1e-12)
      << "six samples, the first waits most";
}

}  // namespace
}  // namespace linkscope
