// How often a flow repeats where calls are held back behind a gate, and where they are made in a row.
#include <gtest/gtest.h>

#include "fakes.hpp"
#include "measure/case_measurement.hpp"

namespace linkscope {
namespace {

std::uint64_t repeats_on(Clock clock, Seconds min_sample_s) {
  FakeGate gate;
  MeasurementSession session{{}, [&] { return gate.now; }, 1, {}};
  session.options.min_sample_s = min_sample_s;
  FakeTransfer transfer(10e-6);
  transfer.own_facts().max_repeats = 4;  // a queue that holds four, and calls that wait for nothing
  transfer.own_facts().max_calls_in_batch = 70;
  Regime regime;
  regime.clock = clock;
  const std::vector<MeasuredFlow> flows{{{{&transfer}}, 1000, Role::measured, Quantity::bandwidth, "", {}}};
  return measure_case(session, gate, flows, regime).flows.front().repeats;
}

TEST(Clocks, BoundRepeatsByTheQueueOnlyWhereTheyAreHeldBack) {
  EXPECT_EQ(repeats_on(Clock::device, 500e-6), 4U);
  EXPECT_EQ(repeats_on(Clock::host, 500e-6), 4U);
  EXPECT_EQ(repeats_on(Clock::batch, 500e-6), 50U);
  EXPECT_EQ(repeats_on(Clock::batch, 5000e-6), 70U) << "no more than the transfer allows";
}

}  // namespace
}  // namespace linkscope
