// direct-schedule on GPUs: what ranks send one another arrives, whoever shares a GPU and whatever memory has messages.
#include "schedules.hpp"

namespace linkscope::testing {
namespace {

constexpr const char* method_name = "direct-schedule";

class DirectSchedule : public WithSchedules {};

TEST_F(DirectSchedule, HalosArriveBetweenRanksOfOneGpuAndOfAll) {
  std::uint64_t seed = 1;
  for (const int devices : {1, gpus()}) {
    for (const auto& [across, up] : {std::pair{2, 1}, std::pair{2, 2}, std::pair{1, 3}}) {
      const AssembledRanks ranks = assemble(flow(method_name, small_halo(across, up, 3), devices));
      EXPECT_EQ(round(ranks, 5, ++seed), "") << across << " x " << up << " on " << devices;
    }
  }
}

TEST_F(DirectSchedule, HalosArriveThroughEveryMemoryOfMessagesAndInEitherOrder) {
  std::uint64_t seed = 10;
  for (const char* memory : {"device", "pinned", "registered", "managed"}) {
    for (const char* order : {"device", "host"}) {
      Flow wanted = flow(method_name, small_halo(2, 2, 2), gpus(), memory);
      wanted.parameters.set("order", order);
      try {
        EXPECT_EQ(round(assemble(wanted), 3, ++seed), "") << memory << ", order " << order;
      } catch (const Error& error) {
        ASSERT_EQ(error.fault(), Fault::unsupported) << memory << ": " << error.what();
        EXPECT_STREQ(memory, "managed") << error.what();
      }
    }
  }
}

TEST_F(DirectSchedule, AHaloThatIsOverwrittenIsFoundAndItsCellNamed) {
  const AssembledRanks ranks = assemble(flow(method_name, small_halo(2, 1, 1), gpus()));
  ASSERT_EQ(round(ranks, 1, 77), "");
  ranks.state.front()->poison(0, ranks.state.front()->bytes());
  const std::string what = fault(ranks, 77);
  EXPECT_NE(what.find("rank 0"), std::string::npos) << what;
  EXPECT_NE(what.find("column"), std::string::npos) << what;
}

TEST_F(DirectSchedule, PatternsOfSeveralMessagesToOneRankArrive) {
  std::uint64_t seed = 20;
  for (const int ranks : {2, 3}) {
    const AssembledRanks assembled = assemble(flow(method_name, ring_pattern(ranks, 3), gpus()));
    EXPECT_EQ(round(assembled, 4, ++seed), "") << ranks << " ranks";
  }
}

TEST_F(DirectSchedule, NoParticleIsLostOrDoubledOrAltered) {
  std::uint64_t seed = 30;
  for (const char* memory : {"device", "pinned", "registered"}) {
    for (const int ranks : {2, 4}) {
      for (const char* order : {"device", "host"}) {
        Flow wanted = flow(method_name, small_particles(ranks, 2), gpus(), memory);
        wanted.parameters.set("order", order);
        EXPECT_EQ(round(assemble(wanted), 2, ++seed), "")
            << ranks << " ranks, " << memory << ", order " << order;
      }
    }
  }
}

TEST_F(DirectSchedule, AnAlteredParticleIsFound) {
  const AssembledRanks ranks = assemble(flow(method_name, small_particles(2, 1), gpus()));
  ASSERT_EQ(round(ranks, 1, 5), "");
  // The last of those that rank 1 holds: it began with 5001, sent away some and was sent others.
  ranks.state.back()->poison(5000 * particle_bytes + 40, 8);
  EXPECT_NE(fault(ranks, 5), "");
}

TEST_F(DirectSchedule, TellsWhereItsTimeWent) {
  const auto schedule = small_halo(2, 2, 2);
  const AssembledRanks ranks = assemble(flow(method_name, schedule, gpus()));
  ASSERT_EQ(round(ranks, 2, 3), "");
  for (const Transfer* rank : ranks.local_parts->transfers()) {
    const auto told = rank->breakdown();
    ASSERT_TRUE(told);
    EXPECT_EQ(told->phases.size(), schedule->loops.front().phases.size());
    EXPECT_TRUE(told->parts.contains("pack"));
    EXPECT_TRUE(told->parts.contains("synchronise"));
  }
}

TEST_F(DirectSchedule, RanksOnCpusAreNotForIt) {
  Flow wanted = flow(method_name, small_halo(2, 1, 1), gpus());
  wanted.state.back() = endpoint({DeviceKind::numa, 0}, "pinned");
  EXPECT_FALSE(method(method_name).supports(wanted));
  Flow apart = flow(method_name, small_halo(2, 1, 1), gpus(), "managed", 2);
  EXPECT_FALSE(method(method_name).supports(apart)) << "managed memory has no IPC handle";
}

class XcclSchedule : public WithSchedules {
 protected:
  void SetUp() override {
    WithSchedules::SetUp();
    if (IsSkipped()) return;
    if (const Support here = method("xccl-schedule").available(); !here) GTEST_SKIP() << here.reason();
  }
};

TEST_F(XcclSchedule, CarriesHalosParticlesAndPatternsBetweenGpus) {
  if (gpus() < 2) GTEST_SKIP() << "one GPU";
  const int ranks = gpus() >= 4 ? 4 : 2;
  std::uint64_t seed = 50;
  for (const auto& schedule :
       {small_halo(ranks / 2, 2, 2), small_particles(ranks, 2), ring_pattern(ranks, 2)}) {
    const AssembledRanks assembled = assemble(flow("xccl-schedule", schedule, ranks));
    EXPECT_EQ(round(assembled, 3, ++seed), "") << "schedule " << seed;
  }
}

TEST_F(XcclSchedule, RefusesTwoRanksOnOneGpu) {
  EXPECT_FALSE(method("xccl-schedule").supports(flow("xccl-schedule", small_halo(2, 1, 1), 1)));
}

}  // namespace
}  // namespace linkscope::testing
