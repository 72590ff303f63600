// Where an MPI is looked for, and what is said where none is found.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "backend/mpi/library.hpp"
#include "base/error.hpp"

namespace linkscope::mpi {
namespace {

std::vector<std::string> files(const SearchRoots& roots) {
  std::vector<std::string> all;
  for (const std::filesystem::path& file : candidates(roots)) all.push_back(file.string());
  return all;
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(MpiSearch, WhatIsAskedForIsTheOnlyCandidate) {
  const auto found = files({"/opt/mpi/libmpi_abi.so", "/engine", {"/venv"}});
  EXPECT_EQ(found, std::vector<std::string>{"/opt/mpi/libmpi_abi.so"});
}

TEST(MpiSearch, TheSitesAdapterComesFirstThenTheLoaderThenEnvironments) {
  const auto found = files({"", "/engine", {"/venv", "/conda"}});
  EXPECT_EQ(found.front(), "/engine/liblinkscope-mpi-site.so");
  const auto place = [&](const std::string& file) {
    return std::find(found.begin(), found.end(), file) - found.begin();
  };
  EXPECT_EQ(place("libmpi_abi.so.1"), 1);
  EXPECT_LT(place("libmpi_abi.so.1"), place("/venv/lib/libmpi_abi.so.1"));
  EXPECT_LT(place("/venv/lib/libmpi_abi.so.1"), place("/conda/lib/libmpi_abi.so.1"));
}

TEST(MpiSearch, AWheelFindsTheLibOfItsEnvironment) {
  const auto found = files({"", "/home/u/env/lib/python3.11/site-packages/linkscope/_engine", {}});
  EXPECT_NE(std::find(found.begin(), found.end(), "/home/u/env/lib/libmpi_abi.so.1"), found.end());
}

TEST(MpiLibrary, WhatIsMissingIsOneLineThatNamesEveryPlace) {
  MpiLibrary library({"", "/no/engine/here", {"/no/venv"}}, threads_single);
  const Support there = library.available();
  if (there) GTEST_SKIP() << "the loader's path has an MPI";
  EXPECT_TRUE(holds(there.reason(), "/no/engine/here")) << there.reason();
  EXPECT_TRUE(holds(there.reason(), "/no/venv/lib")) << there.reason();
  EXPECT_TRUE(holds(there.reason(), "LINKSCOPE_MPI")) << there.reason();
  EXPECT_FALSE(holds(there.reason(), "\n"));
  EXPECT_THROW(static_cast<void>(library.runtime()), Error);
}

TEST(MpiLibrary, AFileThatIsNoLibraryIsNamedWithTheLoadersReason) {
  const auto file = std::filesystem::temp_directory_path() / "linkscope-no-library.so";
  std::ofstream(file) << "INPUT(elsewhere)";
  MpiLibrary library({file.string(), "/no/engine/here", {}}, threads_single);
  const Support there = library.available();
  std::filesystem::remove(file);
  ASSERT_FALSE(there);
  EXPECT_TRUE(holds(there.reason(), file.string() + ":")) << there.reason();
}

TEST(MpiLibrary, ALibraryWithoutTheAbiIsSentToItsOwnCompiler) {
  MpiLibrary library({"libm.so.6", "/no/engine/here", {}}, threads_single);
  const Support there = library.available();
  ASSERT_FALSE(there);
  EXPECT_TRUE(holds(there.reason(), "MPICC=PATH")) << there.reason();
}

}  // namespace
}  // namespace linkscope::mpi
