// Environment: what the engine takes from its variables, and what it refuses.
#include "run/environment.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace linkscope {
namespace {

class EnvironmentTest : public ::testing::Test {
 protected:
  void TearDown() override {
    unsetenv("LINKSCOPE_SYNC");
    unsetenv("LINKSCOPE_SEED");
    unsetenv("LINKSCOPE_MPI_THREADS");
    for (const char* variable : {"LINKSCOPE_PYTHON", "VIRTUAL_ENV", "CONDA_PREFIX"}) unsetenv(variable);
    for (const char* variable : Environment::rank_variables) unsetenv(variable);
  }
  void SetUp() override { TearDown(); }  // these tests may themselves be run by a launcher
};

TEST_F(EnvironmentTest, SpinsUnlessToldOtherwise) {
  unsetenv("LINKSCOPE_SYNC");
  EXPECT_EQ(Environment::read().waiting, SyncMode::spin);
  EXPECT_EQ(Environment::read().first_seed, 1U);
}

TEST_F(EnvironmentTest, ReadsHowToWait) {
  setenv("LINKSCOPE_SYNC", "block", 1);
  EXPECT_EQ(Environment::read().waiting, SyncMode::block);
  setenv("LINKSCOPE_SYNC", "yield", 1);
  EXPECT_EQ(Environment::read().waiting, SyncMode::yield);
  setenv("LINKSCOPE_SYNC", "spin", 1);
  EXPECT_EQ(Environment::read().waiting, SyncMode::spin);
}

TEST_F(EnvironmentTest, MpiIsToldOfOneThreadUnlessAskedOtherwise) {
  EXPECT_EQ(Environment::read().mpi_callers, MpiCallers::alone);
  setenv("LINKSCOPE_MPI_THREADS", "multiple", 1);
  EXPECT_EQ(Environment::read().mpi_callers, MpiCallers::many);
  setenv("LINKSCOPE_MPI_THREADS", "serialized", 1);
  EXPECT_THROW(Environment::read(), Error);
}

TEST_F(EnvironmentTest, LooksFirstWhereThePythonIsThatStartedIt) {
  EXPECT_TRUE(Environment::read().python_environments.empty());
  setenv("VIRTUAL_ENV", "/home/me/venv", 1);
  setenv("CONDA_PREFIX", "/opt/conda", 1);
  setenv("LINKSCOPE_PYTHON", "/usr/local:/home/me/venv::/usr", 1);
  const std::vector<std::string> folders{"/usr/local", "/home/me/venv", "/usr", "/opt/conda"};
  EXPECT_EQ(Environment::read().python_environments, folders);
}

TEST_F(EnvironmentTest, NamesTheVariableThatMakesNoSense) {
  for (const char* variable : {"LINKSCOPE_SYNC", "LINKSCOPE_SEED"}) {
    setenv(variable, "Block", 1);
    try {
      static_cast<void>(Environment::read());
      FAIL() << variable;
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::bad_input);
      EXPECT_NE(std::string(error.what()).find(variable), std::string::npos) << error.what();
    }
    unsetenv(variable);
  }
}

TEST_F(EnvironmentTest, TakesTheRankFromWhoeverSaysIt) {
  EXPECT_EQ(Environment::read().rank, std::nullopt);
  // From the last asked to the first: each outdoes those before.
  int rank = 0;
  for (auto variable = Environment::rank_variables.rbegin(); variable != Environment::rank_variables.rend();
       ++variable) {
    setenv(*variable, std::to_string(++rank).c_str(), 1);
    EXPECT_EQ(Environment::read().rank, rank) << *variable;
  }
}

TEST_F(EnvironmentTest, NamesTheLauncherWhoseRankIsNone) {
  for (const char* text : {"one", "-1", "1.5"}) {
    setenv("SLURM_PROCID", text, 1);
    try {
      static_cast<void>(Environment::read());
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::bad_input);
      EXPECT_EQ(std::string(error.what()).find("SLURM_PROCID: "), 0U) << error.what();
    }
  }
}

}  // namespace
}  // namespace linkscope
