// Flows that are load for others: they outlast what is measured, and count for nothing else.
#include <gtest/gtest.h>

#include <vector>

#include "measured_case.hpp"

namespace linkscope {
namespace {

TEST_F(MeasureCase, SustainedLoadGoesOnUntilEveryFlowIsTimed) {
  FakeTransfer fast(10e-3);
  FakeTransfer slow(12e-3);
  const CaseResult result = run({measured(fast), measured(slow)}, Cache::rotated, Load::sustained);
  EXPECT_EQ(result.flows[0].repeats, 4U) << "however long one transfer is";
  ASSERT_EQ(gate.held.size(), 2U);
  EXPECT_EQ(gate.held[0].tail, 1U);
  EXPECT_NEAR(result.flows[0].seconds.median, 10e-3, 1e-12) << "the tail is not timed";
  EXPECT_NEAR(result.flows[1].seconds.median, 12e-3, 1e-12);
}

TEST_F(MeasureCase, TailsThatAreTooShortGrow) {
  FakeTransfer slow(12e-3);
  int starts = 0;
  FakeTransfer quick_later(
      [&] { return ++starts < 4 ? 12e-3 : 8e-3; });  // after the warm-up has set the repeats
  const CaseResult result = run({measured(quick_later), measured(slow)}, Cache::rotated, Load::sustained);
  EXPECT_GE(static_cast<double>(gate.held[0].repeats + gate.held[0].tail) * 8e-3,
            static_cast<double>(gate.held[1].repeats) * 12e-3);
  EXPECT_EQ(result.stopped, Stop::precision);
}

TEST_F(MeasureCase, SustainedFlowsGoOnUntilTheWidestIntervalIsNarrow) {
  FakeTransfer steady(10e-3);
  int starts = 0;
  FakeTransfer noisy([&] { return ++starts % 2 == 0 ? 9.5e-3 : 10.5e-3; });
  session.options.max_samples = 12;
  EXPECT_EQ(run({measured(steady), measured(noisy)}, Cache::rotated, Load::sustained).stopped, Stop::samples);
}

TEST_F(MeasureCase, BackgroundOutlastsTheMeasuredFlow) {
  FakeTransfer work(100e-6);
  FakeTransfer load(1e-6);
  const CaseResult result = run({measured(work), background(load)});
  EXPECT_GE(result.flows[1].repeats, 100U);
  EXPECT_NEAR(result.aggregate->gbps.median, 10.0, 1e-4) << "the background's bytes do not count";
}

/// Leaves of spans what counts, as the joint gate does.
class CountingGate final : public FakeGate {
 public:
  std::vector<Span> collect() override {
    std::vector<Span> spans = FakeGate::collect();
    for (std::size_t i = 0; i < spans.size(); ++i) spans[i] = held[i].transfer->counted(spans[i]);
    return spans;
  }
};

TEST_F(MeasureCase, BackgroundOutlastsWorkThatDoesNotCountToo) {
  CountingGate counting;
  FakeTransfer work(10e-3);
  work.counted_share = 0.2;
  FakeTransfer load(1e-3);
  const CaseResult result = measure_case(session, counting, {measured(work), background(load)}, regime);
  EXPECT_NEAR(result.flows[0].seconds.median, 2e-3, 1e-12);
  EXPECT_GE(static_cast<double>(counting.held[1].repeats) * 1e-3,
            static_cast<double>(counting.held[0].repeats) * 10e-3);
}

TEST_F(MeasureCase, ASampleWhoseBackgroundEndedEarlyIsDiscarded) {
  // From the seventh run on the background is three times as fast as its repeats were planned for.
  FakeTransfer work(100e-6);
  FakeTransfer load([this] { return gate.runs > 6 ? 0.3e-6 : 1e-6; });
  const CaseResult result = run({measured(work), background(load)});
  EXPECT_GE(static_cast<double>(result.flows[1].repeats) * 0.3e-6, 100e-6);
  EXPECT_GE(result.load_ended, 1U) << "and the row says how many";
  for (const Seconds sample : result.flows[1].samples_s) EXPECT_GT(sample, 0);
}

TEST_F(MeasureCase, ALoadThatIsALittleFasterThanPlannedNeedsNoFurtherWarmUp) {
  FakeTransfer work(100e-6);
  FakeTransfer load([this] { return gate.runs == 1 ? 1e-6 : 0.87e-6; });
  EXPECT_EQ(run({measured(work), background(load)}).flows[1].repeats, 130U) << "they take 113 us";
  EXPECT_EQ(gate.runs, 3 + 6);
}

TEST_F(MeasureCase, ALoadOfOneTransferThatEndsEarlyGetsMore) {
  FakeTransfer work(1e-3);
  FakeTransfer load([this] { return gate.runs > 6 ? 0.6e-3 : 2e-3; });
  EXPECT_EQ(run({measured(work), background(load)}).flows[1].repeats, 2U);
}

TEST_F(MeasureCase, WhatArrivesLateMayOutlastWhatItWaitsForAndIsSampledForItsTail) {
  FakeTransfer small(2.5e-3);
  small.own_facts().arrives_late = true;
  FakeTransfer load(2e-3);
  const CaseResult result = run({measured(small), background(load)});
  EXPECT_EQ(result.flows[1].repeats + result.load_ended, 1U) << "one more would be one more to wait for";
  EXPECT_GE(result.flows[0].seconds.n, fewest_for_tail);
}

TEST_F(MeasureCase, ATailIsSampledHoweverLongThatTakes) {
  FakeTransfer noisy([this] { return gate.runs % 2 == 0 ? 25e-3 : 26e-3; });
  noisy.own_facts().arrives_late = true;
  const CaseResult result = run({measured(noisy)});
  EXPECT_EQ(result.stopped, Stop::budget);
  EXPECT_EQ(result.flows[0].seconds.n, fewest_for_tail) << "5 s of a budget of 2 s";
}

TEST_F(MeasureCase, ALoadAsksForNoLongerSamples) {
  FakeTransfer work(10e-6);
  FakeTransfer load(1e-6);
  load.own_facts().min_sample_s = 10e-3;
  EXPECT_EQ(run({measured(work), background(load)}).flows[0].repeats, 10U);
}

TEST_F(MeasureCase, ABackgroundThatCannotLastIsSaid) {
  FakeTransfer work(100e-6);
  FakeTransfer load(1e-6);
  load.own_facts().max_repeats = 10;
  EXPECT_THROW(run({measured(work), background(load)}), Error);
}

TEST_F(MeasureCase, TenStartsWhoseLoadEndedEarlyAreBorneNotEleven) {
  constexpr int warm_ups = 3;
  int broken = 10;
  FakeTransfer work(100e-6);
  FakeTransfer load([&] { return gate.runs > warm_ups && gate.runs <= warm_ups + broken ? 1e-9 : 1e-6; });
  load.own_facts().max_repeats = 130;
  EXPECT_EQ(run({measured(work), background(load)}).load_ended, 10U);
  gate.runs = 0;
  broken = 11;
  EXPECT_THROW(run({measured(work), background(load)}), Error);
}

TEST_F(MeasureCase, SustainedLoadLeavesHalfAQueueToItsTails) {
  FakeTransfer transfer(10e-3);
  transfer.own_facts().max_repeats = 8;
  regime.min_sample_s = 1;
  EXPECT_EQ(run({measured(transfer)}, Cache::rotated, Load::sustained).flows[0].repeats, 4U);
  EXPECT_GE(gate.held[0].tail, 1U);
}

TEST_F(MeasureCase, ALoadOutlastsWhatFindsItsCachesFlushed) {
  FakeTransfer work(10e-6);
  FakeTransfer load(1e-6);
  const CaseResult result = run({measured(work), background(load)}, Cache::flushed);
  EXPECT_EQ(result.flows[0].repeats, 1U);
  EXPECT_EQ(result.flows[1].repeats, 13U);
}

TEST_F(MeasureCase, ALoadHasNoRemarksAndShiftsNone) {
  FakeTransfer load(1e-6);
  FakeTransfer steady(100e-6);
  FakeTransfer slowing([this] { return 100e-6 * (1 + 0.005 * gate.runs); });
  session.options.max_samples = 12;
  MeasuredFlow latency = measured(slowing);
  latency.quantity = Quantity::latency;
  const CaseResult result = run({background(load), measured(steady), latency});
  EXPECT_TRUE(result.flows[0].notes.empty());
  EXPECT_TRUE(result.flows[1].notes.empty());
  EXPECT_EQ(result.flows[2].notes.size(), 1U);
}

}  // namespace
}  // namespace linkscope
