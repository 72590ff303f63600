// Words, sizes and expected values of collectives.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "endpoints.hpp"
#include "model/collective.hpp"
#include "model/elements.hpp"

namespace linkscope {
namespace {

Flow collective(const std::string& kind, int members, Bytes bytes, const std::string& in_place = "no") {
  Flow flow;
  flow.method = "direct";
  flow.bytes = bytes;
  flow.parameters.set("collective", kind);
  flow.parameters.set("in_place", in_place);
  for (int index = 0; index < members; ++index) {
    flow.members.push_back(endpoint({DeviceKind::gpu, index}, "device"));
  }
  return flow;
}

Fault fault_of(const Flow& flow) {
  try {
    static_cast<void>(CollectiveShape::of(flow));
  } catch (const Error& error) {
    return error.fault();
  }
  return Fault::fatal;
}

TEST(Collective, BuffersAreAsNcclTestsCountsThem) {
  const auto gather = CollectiveShape::of(collective("all-gather", 4, 64));
  EXPECT_EQ(gather.source_bytes(), 16U);
  EXPECT_EQ(gather.destination_bytes(), 64U);
  const auto scatter = CollectiveShape::of(collective("reduce-scatter", 4, 64));
  EXPECT_EQ(scatter.source_bytes(), 64U);
  EXPECT_EQ(scatter.destination_bytes(), 16U);
  const auto all = CollectiveShape::of(collective("all-reduce", 4, 64));
  EXPECT_EQ(all.source_bytes(), 64U);
  EXPECT_EQ(all.destination_bytes(), 64U);
}

TEST(Collective, InPlaceAMembersBlockLiesAmongTheOutput) {
  EXPECT_EQ(CollectiveShape::of(collective("all-gather", 4, 64, "yes")).input_offset(3), 48U);
  EXPECT_EQ(CollectiveShape::of(collective("all-gather", 4, 64)).input_offset(3), 0U);
  EXPECT_EQ(CollectiveShape::of(collective("all-reduce", 4, 64, "yes")).input_offset(3), 0U);
}

TEST(Collective, InPlaceReductionsThatLeaveInputsBehindAddUp) {
  for (const char* kind : {"all-reduce", "reduce", "reduce-scatter"}) {
    EXPECT_TRUE(CollectiveShape::of(collective(kind, 4, 64, "yes")).accumulates()) << kind;
    EXPECT_FALSE(CollectiveShape::of(collective(kind, 4, 64)).accumulates()) << kind;
    for (const FlowPart& part : collective_parts(collective(kind, 4, 64, "yes"))) {
      EXPECT_TRUE(part.destination) << kind << ": holds every member's input";
      EXPECT_FALSE(part.source) << kind;
    }
  }
  EXPECT_EQ(CollectiveShape::of(collective("reduce-scatter", 4, 64, "yes")).output_offset(3), 48U);
  EXPECT_EQ(CollectiveShape::of(collective("reduce-scatter", 4, 64)).output_offset(3), 0U);
}

TEST(Collective, OnlyTheRootOfABroadcastSendsAndOfAReduceReceives) {
  const auto broadcast = collective_parts(collective("broadcast", 3, 12));
  EXPECT_TRUE(broadcast[0].source);
  EXPECT_FALSE(broadcast[1].source);
  EXPECT_TRUE(broadcast[1].destination);
  const auto reduce = collective_parts(collective("reduce", 3, 12));
  EXPECT_TRUE(reduce[0].destination);
  EXPECT_FALSE(reduce[1].destination);
  EXPECT_TRUE(reduce[1].source);
}

TEST(Collective, WhatCannotBeIsRefusedForAReason) {
  EXPECT_EQ(fault_of(collective("all-to-all", 4, 8)), Fault::unsupported) << "half an element each";
  EXPECT_EQ(fault_of(collective("all-to-all", 4, 16, "yes")), Fault::unsupported);
  EXPECT_EQ(fault_of(collective("barrier", 4, 0, "yes")), Fault::unsupported);
  EXPECT_EQ(fault_of(collective("gossip", 4, 16)), Fault::bad_input);
  EXPECT_EQ(fault_of(collective("all-reduce", 0, 16)), Fault::bad_input);
}

TEST(Collective, InPlaceAnAllReduceMakesAsManyCallsAsItsNumbersHaveRoomFor) {
  EXPECT_EQ(CollectiveShape::of(collective("all-reduce", 4, 64)).most_calls(),
            std::numeric_limits<std::uint64_t>::max());
  for (const char* type : {"float32", "float16", "bfloat16", "int32"}) {
    const double largest = std::string(type) == "float16" ? 65504
                           : std::string(type) == "int32" ? 2147483647.0
                                                          : 3.38e38;
    for (int members = 2; members <= 16; ++members) {
      Flow flow = collective("all-reduce", members, 64, "yes");
      flow.parameters.set("type", type);
      const std::uint64_t calls = CollectiveShape::of(flow).most_calls();
      EXPECT_GE(calls, 2U) << type << " of " << members;
      const double last = 3.0 * std::pow(members, static_cast<double>(calls));
      EXPECT_LE(last, largest) << type << " of " << members << ", " << calls << " calls";
    }
  }
}

TEST(Collective, InputsDifferByRoundMemberAndPlace) {
  int same_round = 0;
  int same_member = 0;
  int same_place = 0;
  for (std::uint64_t index = 0; index < 7000; ++index) {
    same_round += input_element(1, 0, index) == input_element(2, 0, index) ? 1 : 0;
    same_member += input_element(1, 0, index) == input_element(1, 1, index) ? 1 : 0;
    same_place += input_element(1, 0, index) == input_element(1, 0, index + 1) ? 1 : 0;
  }
  for (const int same : {same_round, same_member, same_place})
    EXPECT_NEAR(same, 1000, 200) << "one in seven by chance";
}

}  // namespace
}  // namespace linkscope
