// The packets' protocol, tried out by threads: every member's workers against those of the others, at any pace.
#include <gtest/gtest.h>

#include "packet_threads.hpp"

namespace linkscope::direct {
namespace {

Outcome run(const Node& node, std::uint64_t calls, MemberSet absent) {
  const auto port_of = [&node](int member, Extent worker) {
    return std::make_unique<ThreadPort<CheckedEnds>>(node, member, worker,
                                                     CheckedEnds(node.arrangement().kind));
  };
  return run_members(node.arrangement().members, workers, calls, absent, port_of,
                     [&node](ThreadPort<CheckedEnds>& port, std::uint64_t repeats) {
                       launch(port, node.arrangement(), repeats);
                     });
}

TEST(Staging, AsksForWhatLayInThePlacesOfTheNextHalfAndTellsAfterEach) {
  Staging staging;
  for (const std::uint64_t call : {1, 2, 3, 4, 5}) {
    EXPECT_EQ(staging.read_before(call), call > 2 ? call - 2 : 0) << call;
    EXPECT_TRUE(staging.told_after(call)) << call;
  }
  staging.sets = 8;
  for (std::uint64_t call = 1; call <= 40; ++call) {
    const std::uint64_t needed = staging.read_before(call);
    EXPECT_EQ(needed, call % 4 == 1 && call >= 9 ? call - 5 : 0) << call;
    EXPECT_TRUE(needed == 0 || staging.told_after(needed)) << call;
    EXPECT_EQ(staging.told_after(call), call % 4 == 0) << call;
    for (std::uint64_t next = call; needed != 0 && next < call + 4; ++next)
      EXPECT_EQ(staging.offset(4, next, 0, 1), staging.offset(4, next - 8, 0, 1)) << "read by " << needed;
  }
}

class Protocol : public ::testing::TestWithParam<Arrangement> {};

TEST_P(Protocol, DeliversEveryCallsOwnNumbersHoweverLateMembersAre) {
  constexpr std::uint64_t calls = 400;
  const Node node(GetParam());
  const Outcome outcome = run(node, calls, 0);
  EXPECT_EQ(outcome.wrong, 0U);
  EXPECT_EQ(outcome.checked, calls * elements_received(shape_of(GetParam())));
}

TEST_P(Protocol, GivesUpOnAMemberThatNeverComes) {
  Arrangement arrangement = GetParam();
  arrangement.timeout = 100'000;
  const int lost = 1;
  const Node node(arrangement);
  const Outcome outcome = run(node, 4 * arrangement.sets, only(lost));
  EXPECT_EQ(outcome.wrong, 0U);
  int named = -1;
  for (int member = 0; member < arrangement.members; ++member) {
    if (member == lost) continue;
    if (node.place(member).missing >= 0) named = node.place(member).missing;
  }
  EXPECT_EQ(named, lost);
}

INSTANTIATE_TEST_SUITE_P(Collectives, Protocol,
                         ::testing::Values(Arrangement{CollectiveKind::all_reduce, Trips::one, 2, 8},
                                           Arrangement{CollectiveKind::all_reduce, Trips::one, 5, 52},
                                           Arrangement{CollectiveKind::all_reduce, Trips::two, 2, 100},
                                           Arrangement{CollectiveKind::all_reduce, Trips::two, 3, 4},
                                           Arrangement{CollectiveKind::all_reduce, Trips::two, 5, 244},
                                           Arrangement{CollectiveKind::reduce, Trips::one, 3, 20},
                                           Arrangement{CollectiveKind::reduce, Trips::one, 4, 20, 8},
                                           Arrangement{CollectiveKind::broadcast, Trips::one, 4, 36},
                                           Arrangement{CollectiveKind::broadcast, Trips::one, 3, 36, 8},
                                           Arrangement{CollectiveKind::broadcast, Trips::one, 5, 36, 4},
                                           Arrangement{CollectiveKind::reduce_scatter, Trips::one, 4, 48},
                                           Arrangement{CollectiveKind::all_gather, Trips::one, 3, 36},
                                           Arrangement{CollectiveKind::all_to_all, Trips::one, 5, 60}));

}  // namespace
}  // namespace linkscope::direct
