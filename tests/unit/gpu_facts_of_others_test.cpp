// What a graph, and a call timed until it returns, state of the work they carry out.
#include <gtest/gtest.h>

#include "backend/gpu/facts_of_others.hpp"

namespace linkscope::gpu {
namespace {

TransferFacts copies() {
  TransferFacts work;
  work.operations = 3;
  work.max_repeats = 1000;
  work.touched_bytes = 64;
  work.candidates = {{{"blocks", 1}}, {{"blocks", 2}}};
  work.setting = work.candidates.front();
  return work;
}

TEST(FactsOfOthers, TimeIsPerTransferOfAGraphWhetherOrNotItIsTimedUntilItsLaunchReturns) {
  EXPECT_EQ(facts_of_graph(copies(), 20).operations, 60U);
  EXPECT_EQ(facts_until_return(copies()).operations, 3U);
  EXPECT_EQ(facts_until_return(facts_of_graph(copies(), 20)).operations, 60U);
  EXPECT_EQ(facts_of_graph(facts_until_return(copies()), 20).operations, 60U);
}

TEST(FactsOfOthers, AQueueHoldsAsManyLaunchesAsItHoldsTransfers) {
  EXPECT_EQ(facts_of_graph(copies(), 20).max_repeats, queue_share / 20);
  EXPECT_EQ(facts_of_graph(copies(), 1024).max_repeats, 1U) << "one always";
  EXPECT_EQ(facts_until_return(copies()).max_repeats, queue_share);
  EXPECT_EQ(facts_until_return(facts_of_graph(copies(), 20)).max_repeats, queue_share / 20);
  TransferFacts few = copies();
  few.max_repeats = 40;
  EXPECT_EQ(facts_of_graph(few, 20).max_repeats, 2U);
  EXPECT_EQ(facts_until_return(few).max_repeats, 40U);
}

TEST(FactsOfOthers, ACallHasNothingToTuneAndNoRate) {
  const TransferFacts call = facts_until_return(copies());
  EXPECT_TRUE(call.candidates.empty());
  EXPECT_EQ(call.touched_bytes, 0U);
  EXPECT_EQ(call.setting, copies().setting) << "the work's";
  EXPECT_EQ(facts_of_graph(copies(), 5).candidates, copies().candidates);
  EXPECT_EQ(facts_of_graph(copies(), 5).touched_bytes, 64U);
}

}  // namespace
}  // namespace linkscope::gpu
