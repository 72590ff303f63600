// Max-min shares, by hand.
#include "backend/modelled/fair_share.hpp"

#include <gtest/gtest.h>

namespace linkscope::modelled {
namespace {

std::vector<double> rates(const std::vector<BandwidthDemand>& demands,
                          const std::vector<double>& capacities) {
  std::vector<const BandwidthDemand*> pointers;
  for (const BandwidthDemand& demand : demands) pointers.push_back(&demand);
  return fair_rates(pointers, capacities);
}

TEST(FairRates, OneFlowTakesTheNarrowestOfItsLinks) {
  EXPECT_EQ(rates({{{{0, 1}, {1, 1}}}}, {100, 50}), std::vector<double>{50});
}

TEST(FairRates, TwoFlowsOnOneLinkGetHalfEach) {
  EXPECT_EQ(rates({{{{0, 1}}}, {{{0, 1}}}}, {50}), (std::vector<double>{25, 25}));
}

// Three links of 10, 10 and 4: a flow over all three, one on each. The narrow link gives 2 and 2, the others
// leave what the long flow cannot use.
TEST(FairRates, TextbookChainLeavesTheRestToTheShortFlows) {
  const BandwidthDemand all{{{0, 1}, {1, 1}, {2, 1}}};
  EXPECT_EQ(rates({all, {{{0, 1}}}, {{{1, 1}}}, {{{2, 1}}}}, {10, 10, 4}), (std::vector<double>{2, 8, 8, 2}));
}

// Four flows share 30: two bound elsewhere at 2 and 6, two take what is left, 11 each.
TEST(FairRates, ABoundFlowLeavesItsShareToTheOthers) {
  EXPECT_EQ(rates({{{{0, 1}, {1, 1}}}, {{{0, 1}}, 6}, {{{0, 1}}}, {{{0, 1}}}}, {30, 2}),
            (std::vector<double>{2, 6, 11, 11}));
}

TEST(FairRates, AnInefficientFlowTakesMoreOfTheLinkForTheSameRate) {
  const auto shared = rates({{{{0, 2}}}, {{{0, 1}}}}, {30});
  EXPECT_DOUBLE_EQ(shared[0], 10);
  EXPECT_DOUBLE_EQ(shared[1], 10);
}

TEST(FairRates, AResourceNamedTwiceIsPaidTwice) {
  EXPECT_EQ(rates({{{{0, 1}, {0, 1}}}}, {1600}), std::vector<double>{800});
}

TEST(FairRates, NothingBindsWhereNothingIsUsed) {
  EXPECT_EQ(rates({{}}, {}), std::vector<double>{unlimited});
}

TEST(FairRates, NoLinkCarriesMoreThanItCan) {
  // Eight flows over a ring of eight links, each flow over as many links as its number says.
  std::vector<BandwidthDemand> demands;
  for (std::size_t flow = 0; flow < 8; ++flow) {
    BandwidthDemand demand;
    for (std::size_t hop = 0; hop <= flow; ++hop) demand.uses.push_back({(flow + hop) % 8, 1 / 0.77});
    demands.push_back(demand);
  }
  const std::vector<double> capacities{50, 100, 200, 50, 36, 50, 100, 200};
  const auto shared = rates(demands, capacities);
  std::vector<double> carried(8, 0.0);
  for (std::size_t flow = 0; flow < 8; ++flow) {
    for (const Use& use : demands[flow].uses) carried[use.resource] += shared[flow] * use.weight;
  }
  for (std::size_t flow = 0; flow < 8; ++flow) {
    EXPECT_LE(carried[flow], capacities[flow] * (1 + 1e-9));
    bool bottleneck = false;  // max-min: every flow has a full link on which none is faster
    for (const Use& use : demands[flow].uses) {
      bool fastest = true;
      for (std::size_t other = 0; other < 8; ++other) {
        for (const Use& theirs : demands[other].uses) {
          if (theirs.resource == use.resource && shared[other] > shared[flow] * (1 + 1e-9)) fastest = false;
        }
      }
      bottleneck = bottleneck || (fastest && carried[use.resource] > capacities[use.resource] * (1 - 1e-9));
    }
    EXPECT_TRUE(bottleneck) << "flow " << flow;
  }
}

}  // namespace
}  // namespace linkscope::modelled
