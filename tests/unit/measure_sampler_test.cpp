// What one start says: its figures, the rates to plan by, the loads that ended too early.
#include <gtest/gtest.h>

#include "fakes.hpp"
#include "measure/sampler.hpp"

namespace linkscope {
namespace {

MeasuredFlow of_parts(const std::vector<FakeTransfer*>& transfers) {
  MeasuredFlow flow;
  for (FakeTransfer* transfer : transfers) flow.parts.push_back({transfer});
  flow.bytes = 1000;
  return flow;
}

TEST(Sample, OverlapsNothingWhereFlowsRanOneAfterTheOther) {
  FakeTransfer first(1);
  FakeTransfer second(1);
  const std::vector<MeasuredFlow> flows{of_parts({&first}), of_parts({&second})};
  EXPECT_DOUBLE_EQ(Sample(flows, {{0, 1, 1}, {2, 3, 3}}, {1, 1}, Regime{}).overlap(), 0);
}

TEST(Sample, GoesFromTheFirstPartsStartToTheLastOnesEnd) {
  FakeTransfer first(1);
  FakeTransfer second(1);
  const std::vector<MeasuredFlow> flows{of_parts({&first, &second})};
  const Span early{0, 2, 2};
  const Span late{1, 4, 4};
  for (const auto& spans : {std::vector{early, late}, std::vector{late, early}})
    EXPECT_DOUBLE_EQ(Sample(flows, spans, {1}, Regime{}).length(), 4);
}

TEST(Sample, PlansWithoutTheTimeToTheLastThreadOnlyWhereThatIsMostOfIt) {
  FakeTransfer transfer(10e-6);
  const std::vector<MeasuredFlow> flows{of_parts({&transfer})};
  const auto planned = [&](Seconds apart) {
    const Span span{0, 100e-6, 100e-6, 0, {0, apart}};
    return Sample(flows, {span}, {10}, Regime{}).rate_estimates().front().per_transfer;
  };
  EXPECT_NEAR(planned(30e-6), 10e-6, 1e-12);
  EXPECT_NEAR(planned(90e-6), 1e-6, 1e-12);
}

TEST(Sample, PlansWithoutTheTimeToTheLastThreadOfWhicheverPart) {
  FakeTransfer first(10e-6);
  FakeTransfer second(10e-6);
  const std::vector<MeasuredFlow> flows{of_parts({&first, &second})};
  const Span late{0, 100e-6, 100e-6, 0, {0, 60e-6}};
  const Span other{0, 100e-6, 100e-6};
  for (const auto& spans : {std::vector{late, other}, std::vector{other, late}})
    EXPECT_NEAR(Sample(flows, spans, {10}, Regime{}).rate_estimates().front().per_transfer, 4e-6, 1e-12);
}

TEST(Sample, PlansWithAllOfTheTimeWhereOnePartsThreadsAreApartForLongerThanTheMean) {
  FakeTransfer first(10e-6);
  FakeTransfer second(10e-6);
  const std::vector<MeasuredFlow> flows{of_parts({&first, &second})};
  const Span late{0, 4.01e-3, 4.01e-3, 0, {0, 4e-3}};
  const Span other{0, 10e-6, 10e-6};
  EXPECT_NEAR(Sample(flows, {late, other}, {1}, Regime{}).rate_estimates().front().per_transfer, 2.01e-3,
              1e-9);
}

TEST(Sampler, RefusesASustainedLoadOfWhatTakesOneTransferAtATime) {
  FakeGate gate;
  FakeTransfer transfer(1);
  const std::vector<MeasuredFlow> flows{of_parts({&transfer})};
  for (const std::uint64_t most : {1U, 2U}) {
    transfer.own_facts().max_repeats = most;
    const auto made = [&] { return Sampler(gate, flows, {.load = Load::sustained}); };
    if (most == 1) EXPECT_THROW(made(), Error);
    if (most == 2) EXPECT_NO_THROW(made());
  }
  transfer.own_facts().max_repeats = 1;
  EXPECT_NO_THROW(Sampler(gate, flows, Regime{}));
}

TEST(Sample, SustainedLoadEndsWithTheFirstPartOfAFlow) {
  FakeTransfer first(1);
  FakeTransfer second(1);
  const std::vector<MeasuredFlow> flows{of_parts({&first, &second})};
  const Regime regime{.load = Load::sustained};
  const Span quick{0, 1, 1.5};
  const Span slow{0, 2, 3};
  for (const auto& spans : {std::vector{quick, slow}, std::vector{slow, quick}})
    EXPECT_EQ(Sample(flows, spans, {1}, regime).ended_early(), std::vector<std::size_t>{0});
}

TEST(Sampler, WatchesEveryFlowOfASustainedLoad) {
  FakeGate gate;
  FakeTransfer first(10e-6);
  FakeTransfer second(20e-6);
  const std::vector<MeasuredFlow> flows{of_parts({&first}), of_parts({&second})};
  for (const auto& [load, figures] : {std::pair(Load::once, 1U), std::pair(Load::sustained, 2U)}) {
    Sampler sampler(gate, flows, {.load = load});
    EXPECT_EQ(sampler.stopping_metrics(sampler.take(sampler.ones())).size(), figures);
  }
}

TEST(Sample, NeedsAClockThatGoesForwardAndATimedPart) {
  FakeTransfer transfer(1);
  std::vector<MeasuredFlow> flows{of_parts({&transfer})};
  EXPECT_EQ(Sample(flows, {{1, 1, 1}}, {1}, Regime{}).length(), 0) << "a coarse clock may stand";
  EXPECT_THROW(Sample(flows, {{2, 1, 1}}, {1}, Regime{}), Error);
  flows[0].parts[0].timing = Timing::untimed;
  EXPECT_THROW(Sample(flows, {{1, 2, 2}}, {1}, Regime{}), Error);
}

TEST(Sampler, TailsAreAnEighthOfTheRepeatsAndOneMore) {
  FakeGate gate;
  FakeTransfer transfer(10e-6);
  const std::vector<MeasuredFlow> flows{of_parts({&transfer})};
  Sampler sampler(gate, flows, {.load = Load::sustained});
  static_cast<void>(sampler.take({64}));
  EXPECT_EQ(gate.held.front().tail, 9U);
}

TEST(Sampler, TailsGrowNoLongerThanTheQueue) {
  FakeGate gate;
  FakeTransfer transfer(10e-6);
  transfer.own_facts().max_repeats = 5;
  const std::vector<MeasuredFlow> flows{of_parts({&transfer})};
  Sampler sampler(gate, flows, {.load = Load::sustained});
  for (int i = 0; i < 16; ++i) sampler.lengthen_tails();
  static_cast<void>(sampler.take({3}));
  EXPECT_EQ(gate.held.front().tail, 2U);
}

TEST(Sampler, RestoresEveryPartBeforeEachStart) {
  struct Restored final : FakeTransfer {
    using FakeTransfer::FakeTransfer;
    void restore() override { ++times; }
    int times = 0;
  };
  FakeGate gate;
  Restored first(10e-6);
  Restored second(10e-6);
  const std::vector<MeasuredFlow> flows{of_parts({&first, &second})};
  Sampler sampler(gate, flows, Regime{});
  for (int start = 0; start < 3; ++start) static_cast<void>(sampler.take({4}));
  EXPECT_EQ(first.times, 3);
  EXPECT_EQ(second.times, 3);
}

}  // namespace
}  // namespace linkscope
