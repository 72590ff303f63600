// Processes find out that MPI sees them otherwise than the run does.
#include <gtest/gtest.h>

#include "backend/mpi/library.hpp"
#include "base/error.hpp"

namespace linkscope::mpi {
namespace {

std::uint64_t slots_of(const std::vector<RankEntry>& all) {
  std::vector<std::string> told;
  for (const RankEntry& one : all) told.push_back(one.told());
  return require_one_world(told);
}

std::string complaint(const std::vector<RankEntry>& all) {
  try {
    static_cast<void>(slots_of(all));
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::unsupported);
    return error.what();
  }
  return "";
}

TEST(MpiRollCall, WhatIsNoEntryIsRefused) {
  EXPECT_THROW(static_cast<void>(require_one_world({"hello"})), Error);
  EXPECT_THROW(static_cast<void>(require_one_world({RankEntry{}.told() + "!"})), Error);
}

TEST(MpiRollCall, OneWorldIsInOrder) {
  EXPECT_EQ(complaint({{0, 2, 1}, {1, 2, 1}}), "");
  EXPECT_EQ(complaint({{0, 1, 1}}), "");
}

TEST(MpiRollCall, WhoIsAloneWasStartedByNoMpiLauncher) {
  EXPECT_NE(complaint({{0, 1, 1}, {0, 1, 1}}).find("no MPI launcher"), std::string::npos);
}

TEST(MpiRollCall, RanksThatDifferAreNamed) {
  const std::string text = complaint({{0, 2, 1}, {0, 2, 1}});
  EXPECT_NE(text.find("rank 1 of 2 is rank 0 of 2 to MPI"), std::string::npos) << text;
  EXPECT_NE(complaint({{0, 3, 1}, {1, 3, 1}}), "");
}

TEST(MpiRollCall, SlotsAreThoseThatEveryEndHas) {
  EXPECT_EQ(slots_of({{0, 3, 12}, {1, 3, 0}, {2, 3, 8}}), 8U) << "a bystander has none";
  EXPECT_EQ(slots_of({{0, 1, 0}}), 1U);
}

TEST(MpiGpuAwareness, IsWhatMemoryKindsSay) {
  EXPECT_TRUE(ask_gpu_awareness("system,mpi,cuda"));
  EXPECT_TRUE(ask_gpu_awareness("rocm:device"));
  const Support silent = ask_gpu_awareness("system,mpi");  // this process has no MPI that could be asked
  ASSERT_FALSE(silent);
  EXPECT_NE(silent.reason().find("no way to ask"), std::string::npos) << silent.reason();
}

}  // namespace
}  // namespace linkscope::mpi
