// The tuning pass: picks the best shape, shares it in a group, says what it tried.
#include <gtest/gtest.h>

#include "fakes.hpp"
#include "measure/tuner.hpp"

namespace linkscope {
namespace {

Setting blocks(std::int64_t count) { return {{"blocks", count}}; }

/// Fastest with 64 blocks.
std::unique_ptr<FakeTransfer> tunable() {
  auto transfer = std::make_unique<FakeTransfer>(1e-6);
  transfer->own_facts().candidates = {blocks(32), blocks(64), blocks(128)};
  FakeTransfer* self = transfer.get();
  transfer->time = [self] { return self->used == blocks(64) ? 1e-6 : 2e-6; };
  return transfer;
}

MeasuredFlow flow(FakeTransfer& transfer, const std::string& group) {
  return {{{&transfer}}, 1000, Role::measured, Quantity::bandwidth, group, {}};
}

TEST(Tune, PicksTheFastestAndTellsAllRates) {
  FakeGate gate;
  const auto transfer = tunable();
  const std::vector<MeasuredFlow> flows{flow(*transfer, "")};
  Sampler sampler(gate, flows, Regime{});
  TuningCache cache;
  const auto outcomes = tune(sampler, flows, 10e-6, cache);
  EXPECT_EQ(transfer->used, blocks(64));
  ASSERT_EQ(outcomes.front().tried.size(), 3U);
  EXPECT_NEAR(outcomes.front().tried[0].gbps, 0.5, 1e-6);
  EXPECT_NEAR(outcomes.front().tried[1].gbps, 1.0, 1e-6);
}

TEST(Tune, AGroupTunesOnce) {
  FakeGate gate;
  TuningCache cache;
  const auto first = tunable();
  const std::vector<MeasuredFlow> first_flows{flow(*first, "g")};
  Sampler first_sampler(gate, first_flows, Regime{});
  static_cast<void>(tune(first_sampler, first_flows, 10e-6, cache));
  const int runs = gate.runs;
  const auto second = tunable();
  const std::vector<MeasuredFlow> second_flows{flow(*second, "g")};
  Sampler second_sampler(gate, second_flows, Regime{});
  const auto outcomes = tune(second_sampler, second_flows, 10e-6, cache);
  EXPECT_EQ(gate.runs, runs);
  EXPECT_EQ(second->used, blocks(64));
  EXPECT_EQ(outcomes.front().tried.size(), 3U);
}

TEST(Tune, EachGroupHasItsOwnOutcome) {
  FakeGate gate;
  const auto first = tunable();
  const auto second = tunable();
  second->own_facts().candidates = {blocks(256), blocks(512), blocks(1024)};
  second->time = [&] { return second->used == blocks(512) ? 1e-6 : 2e-6; };
  const std::vector<MeasuredFlow> flows{flow(*first, "g"), flow(*second, "h")};
  Sampler sampler(gate, flows, Regime{});
  TuningCache cache;
  static_cast<void>(tune(sampler, flows, 10e-6, cache));
  EXPECT_EQ(cache.at("g").chosen, blocks(64));
  EXPECT_EQ(cache.at("h").chosen, blocks(512));
}

TEST(Tune, EveryPartGetsTheBestShape) {
  FakeGate gate;
  const auto first = tunable();
  const auto second = tunable();
  std::vector<MeasuredFlow> flows{flow(*first, "")};
  flows[0].parts.push_back({second.get()});
  Sampler sampler(gate, flows, Regime{});
  TuningCache cache;
  static_cast<void>(tune(sampler, flows, 10e-6, cache));
  EXPECT_EQ(first->used, blocks(64));
  EXPECT_EQ(second->used, blocks(64));
}

TEST(Tune, AGroupWhoseChoiceIsNotOfferedTunesAgain) {
  FakeGate gate;
  TuningCache cache;
  cache["g"] = {blocks(512), {}, {}};
  const auto transfer = tunable();
  const std::vector<MeasuredFlow> flows{flow(*transfer, "g")};
  Sampler sampler(gate, flows, Regime{});
  static_cast<void>(tune(sampler, flows, 10e-6, cache));
  EXPECT_EQ(transfer->used, blocks(64));
}

TEST(Tune, ASingleCandidateRunsNothing) {
  FakeGate gate;
  FakeTransfer transfer(1e-6);
  transfer.own_facts().candidates = {blocks(32)};
  const std::vector<MeasuredFlow> flows{flow(transfer, "")};
  Sampler sampler(gate, flows, Regime{});
  TuningCache cache;
  const auto outcomes = tune(sampler, flows, 10e-6, cache);
  EXPECT_EQ(gate.runs, 0);
  EXPECT_TRUE(outcomes.front().tried.empty());
}

TEST(Tune, FlowsOfACaseTuneTogether) {
  // Alone, 64 blocks are best; together the second flow suffers from them more than the first gains.
  FakeGate gate;
  const auto first = tunable();
  const auto second = tunable();
  second->time = [&] { return second->used == blocks(64) ? 50e-6 : 2e-6; };
  const std::vector<MeasuredFlow> flows{flow(*first, ""), flow(*second, "")};
  Sampler sampler(gate, flows, Regime{});
  TuningCache cache;
  static_cast<void>(tune(sampler, flows, 10e-6, cache));
  EXPECT_EQ(first->used, second->used);
  EXPECT_NE(first->used, blocks(64));
}

/// tunable(), but one that gave up with `faulty` leaves at once.
std::unique_ptr<FakeTransfer> giving_up_with(const Setting& faulty) {
  auto transfer = tunable();
  transfer->faulty = faulty;
  FakeTransfer* self = transfer.get();
  transfer->time = [self, time = transfer->time] { return self->used == self->faulty ? 1e-9 : time(); };
  return transfer;
}

TEST(Tune, ACandidateThatGaveUpIsDiscardedHoweverFast) {
  for (const std::int64_t broken : {32, 128}) {
    FakeGate gate;
    const auto transfer = giving_up_with(blocks(broken));
    const std::vector<MeasuredFlow> flows{flow(*transfer, "g")};
    Sampler sampler(gate, flows, Regime{});
    TuningCache cache;
    const auto outcomes = tune(sampler, flows, 10e-6, cache);
    EXPECT_EQ(transfer->used, blocks(64)) << broken;
    EXPECT_EQ(cache.at("g").chosen, blocks(64));
    ASSERT_EQ(outcomes.front().tried.size(), 2U) << "no rate of what did not happen";
    ASSERT_EQ(outcomes.front().discarded.size(), 1U);
    EXPECT_EQ(outcomes.front().discarded.front(),
              "discarded in tuning: blocks " + std::to_string(broken) + ": member 1 did not come");
  }
}

TEST(Tune, RepeatsAreNotThoseOfACandidateThatGaveUp) {
  FakeGate gate;
  const auto transfer = giving_up_with(blocks(32));
  const std::vector<MeasuredFlow> flows{flow(*transfer, "")};
  Sampler sampler(gate, flows, Regime{});
  TuningCache cache;
  static_cast<void>(tune(sampler, flows, 10e-6, cache));
  EXPECT_LE(gate.held.front().repeats, 20U) << "10 us of 1 us each, not of 1 ns";
}

TEST(Tune, RepeatsAreNotThoseOfASlowFirstStart) {
  FakeGate gate;
  const auto transfer = tunable();
  transfer->time = [&] { return gate.runs == 1 ? 50e-6 : 2e-6; };
  const std::vector<MeasuredFlow> flows{flow(*transfer, "")};
  Sampler sampler(gate, flows, Regime{});
  TuningCache cache;
  static_cast<void>(tune(sampler, flows, 10e-6, cache));
  EXPECT_EQ(gate.held.front().repeats, 5U);
}

TEST(Tune, AllFlowsOfATrialAreDiscardedWithOne) {
  FakeGate gate;
  const auto first = tunable();
  const auto second = giving_up_with(blocks(64));
  const std::vector<MeasuredFlow> flows{flow(*first, ""), flow(*second, "")};
  Sampler sampler(gate, flows, Regime{});
  TuningCache cache;
  const auto outcomes = tune(sampler, flows, 10e-6, cache);
  EXPECT_NE(first->used, blocks(64));
  EXPECT_EQ(first->used, second->used);
  ASSERT_EQ(outcomes[0].discarded.size(), 1U);
  EXPECT_EQ(outcomes[0].discarded[0], "discarded in tuning: blocks 64: flow 1: member 1 did not come");
}

TEST(Tune, OfSeveralFaultsTheFirstIsTold) {
  FakeGate gate;
  const auto first = tunable();
  const auto second = tunable();
  first->own_facts().candidates = second->own_facts().candidates = {blocks(32), blocks(64)};
  second->faulty = blocks(32);
  first->faulty = blocks(64);
  const std::vector<MeasuredFlow> flows{flow(*first, ""), flow(*second, "")};
  Sampler sampler(gate, flows, Regime{});
  TuningCache cache;
  try {
    static_cast<void>(tune(sampler, flows, 10e-6, cache));
    FAIL() << "chose one";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("first: flow 1: member"), std::string::npos) << error.what();
  }
  first->faulty = blocks(32);
  const auto outcomes = tune(sampler, flows, 10e-6, cache);
  ASSERT_EQ(outcomes[1].discarded.size(), 1U);
  EXPECT_EQ(outcomes[1].discarded[0], "discarded in tuning: blocks 32: flow 0: member 1 did not come");
}

TEST(Tune, AFlowOfFewerShapesKeepsItsLastWhileOthersTryTheirs) {
  FakeGate gate;
  const auto first = tunable();
  const auto second = tunable();
  second->own_facts().candidates = {blocks(32), blocks(64)};
  first->time = [&] { return first->used == blocks(128) ? 1e-6 : 8e-6; };
  const std::vector<MeasuredFlow> flows{flow(*first, ""), flow(*second, "")};
  Sampler sampler(gate, flows, Regime{});
  TuningCache cache;
  const auto outcomes = tune(sampler, flows, 10e-6, cache);
  EXPECT_EQ(first->used, blocks(128));
  EXPECT_EQ(second->used, blocks(64));
  EXPECT_EQ(outcomes[1].tried.size(), 2U);
}

TEST(Tune, WithNoCandidateLeftTheCaseFails) {
  FakeGate gate;
  const auto transfer = tunable();
  transfer->own_facts().candidates = {blocks(32), blocks(32)};
  transfer->faulty = blocks(32);
  const std::vector<MeasuredFlow> flows{flow(*transfer, "")};
  Sampler sampler(gate, flows, Regime{});
  TuningCache cache;
  try {
    static_cast<void>(tune(sampler, flows, 10e-6, cache));
    FAIL() << "chose one";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::mismatch);
    EXPECT_NE(std::string(error.what()).find("member 1 did not come"), std::string::npos) << error.what();
  }
}

TEST(Tune, DataFoundWrongFailTheCaseWhicheverCandidateItWas) {
  FakeGate gate;
  const auto transfer = giving_up_with(blocks(32));
  transfer->found_wrong = true;
  const std::vector<MeasuredFlow> flows{flow(*transfer, "")};
  Sampler sampler(gate, flows, Regime{});
  TuningCache cache;
  try {
    static_cast<void>(tune(sampler, flows, 10e-6, cache));
    FAIL() << "went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::mismatch);
    EXPECT_STREQ(error.what(), "3 elements were wrong");
  }
}

TEST(Tune, OfLatenciesTheShortestWins) {
  FakeGate gate;
  const auto transfer = tunable();
  std::vector<MeasuredFlow> flows{flow(*transfer, "")};
  flows.front().quantity = Quantity::latency;
  Sampler sampler(gate, flows, Regime{});
  TuningCache cache;
  static_cast<void>(tune(sampler, flows, 10e-6, cache));
  EXPECT_EQ(transfer->used, blocks(64));
}

TEST(Tune, OneStallOfTheFastestDoesNotRuleItOut) {
  FakeGate gate;
  const auto transfer = tunable();
  int starts = 0;
  transfer->time = [&] {
    if (transfer->used != blocks(64)) return 2e-6;
    return ++starts == 2 ? 50e-6 : 1e-6;  // the first of its two runs that count
  };
  const std::vector<MeasuredFlow> flows{flow(*transfer, "")};
  Sampler sampler(gate, flows, Regime{});
  TuningCache cache;
  const auto outcomes = tune(sampler, flows, 10e-6, cache);
  EXPECT_EQ(transfer->used, blocks(64));
  EXPECT_NEAR(outcomes.front().tried[1].gbps, 1.0, 1e-6);
}

TEST(Tune, OfShapesThatTieTheFirstStays) {
  FakeGate gate;
  const auto transfer = tunable();
  transfer->time = [] { return 0x1p-20; };  // spans are exact
  const std::vector<MeasuredFlow> flows{flow(*transfer, "")};
  Sampler sampler(gate, flows, Regime{});
  TuningCache cache;
  static_cast<void>(tune(sampler, flows, 10e-6, cache));
  EXPECT_EQ(transfer->used, blocks(32));
}

TEST(Tune, FlowsOfNoGroupShareNothing) {
  TuningCache cache;
  for (int turn = 0; turn < 2; ++turn) {
    FakeGate gate;
    const auto transfer = tunable();
    const std::vector<MeasuredFlow> flows{flow(*transfer, "")};
    Sampler sampler(gate, flows, Regime{});
    static_cast<void>(tune(sampler, flows, 10e-6, cache));
    EXPECT_GT(gate.runs, 0) << turn;
  }
}

TEST(Tune, TheFirstRunOfAShapeDoesNotCount) {
  FakeGate gate;
  const auto transfer = tunable();
  int starts = 0;
  transfer->time = [&] {
    if (transfer->used != blocks(64)) return 2e-6;
    return ++starts <= 2 ? 50e-6 : 1e-6;  // of its two runs after that, the better counts
  };
  const std::vector<MeasuredFlow> flows{flow(*transfer, "")};
  Sampler sampler(gate, flows, Regime{});
  TuningCache cache;
  static_cast<void>(tune(sampler, flows, 10e-6, cache));
  EXPECT_EQ(transfer->used, blocks(64));
}

TEST(Tune, EachFlowTellsItsOwnRates) {
  FakeGate gate;
  const auto first = tunable();
  const auto second = tunable();
  second->time = [] { return 4e-6; };
  const std::vector<MeasuredFlow> flows{flow(*first, ""), flow(*second, "")};
  Sampler sampler(gate, flows, Regime{});
  TuningCache cache;
  const auto outcomes = tune(sampler, flows, 10e-6, cache);
  EXPECT_NEAR(outcomes[0].tried[1].gbps, 1.0, 1e-6);
  EXPECT_NEAR(outcomes[1].tried[1].gbps, 0.25, 1e-6);
}

}  // namespace
}  // namespace linkscope
