// Finding and loading NCCL: where it is looked for, what is said where there is none, and how its faults are told.
#include "backend/xccl/library.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <climits>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "base/error.hpp"

namespace linkscope::xccl {
namespace {

constexpr const char* unknown = "liblinkscope-knows-none.so.7";

class XcclLibraryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    unsetenv("NCCL_NVLS_ENABLE");
    unsetenv("NCCL_LOCAL_REGISTER");
    unsetenv("FAKE_XCCL_VERSION");
  }

  static Search at(const std::string& path) { return {path, {}, "nccl", "libnccl.so.2"}; }
  static int open_groups() {
    void* handle = dlopen(FAKE_XCCL, RTLD_NOW | RTLD_NOLOAD);
    auto* count = reinterpret_cast<int (*)()>(dlsym(handle, "fake_open_groups"));
    const int open = count();
    dlclose(handle);
    return open;
  }
};

TEST_F(XcclLibraryTest, TakesTheOneThatIsNamed) {
  const XcclLibrary library(at(FAKE_XCCL));
  EXPECT_EQ(library.problem(), "");
  EXPECT_EQ(library.version(), "2.28.9");
  EXPECT_EQ(library.file(), FAKE_XCCL);
  EXPECT_NE(library.api().all_reduce.plain, nullptr);
  EXPECT_EQ(library.api().all_to_all.plain, nullptr) << "older libraries have none: sends and receives then";
}

TEST_F(XcclLibraryTest, SaysWhatAnOlderOneLacks) {
  const XcclLibrary older(at(FAKE_XCCL));
  ASSERT_FALSE(older.allocates());
  EXPECT_EQ(older.allocates().reason(), "nccl 2.28.9 has no ncclMemAlloc, which came with NCCL 2.19");
  ASSERT_FALSE(older.registers());
  EXPECT_NE(older.registers().reason().find("no ncclCommRegister"), std::string::npos);
  const XcclLibrary newer(at(FAKE_NEWER_XCCL));
  EXPECT_TRUE(newer.allocates());
  EXPECT_TRUE(newer.registers());
  EXPECT_NE(newer.api().all_to_all.plain, nullptr);
}

TEST_F(XcclLibraryTest, ThatIsMissingNeitherAllocatesNorRegisters) {
  const XcclLibrary none(at("/nowhere/libnccl.so.2"));
  ASSERT_FALSE(none.allocates());
  EXPECT_EQ(none.allocates().reason(), none.problem());
  ASSERT_FALSE(none.registers());
  EXPECT_EQ(none.registers().reason(), none.problem());
}

TEST_F(XcclLibraryTest, NamesThePathThatHoldsNone) {
  const XcclLibrary library(at("/nowhere/libnccl.so.2"));
  EXPECT_NE(library.problem().find("LINKSCOPE_XCCL: /nowhere/libnccl.so.2"), std::string::npos)
      << library.problem();
  EXPECT_EQ(library.problem().find('\n'), std::string::npos);
}

TEST_F(XcclLibraryTest, LooksNoFurtherThanTheOneThatIsNamed) {
  const std::string folder = std::filesystem::path(FAKE_XCCL).parent_path();
  const XcclLibrary library({"/nowhere/x.so", {folder}, "nccl", std::filesystem::path(FAKE_XCCL).filename()});
  EXPECT_NE(library.problem(), "");
}

TEST_F(XcclLibraryTest, LooksInFoldersWhereTheLoaderKnowsOfNone) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "xccl";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(FAKE_XCCL, folder / unknown, std::filesystem::copy_options::overwrite_existing);
  const XcclLibrary library({"", {"/nowhere", folder}, "nccl", unknown});
  EXPECT_EQ(library.problem(), "");
  EXPECT_EQ(library.version(), "2.28.9");
}

TEST_F(XcclLibraryTest, SaysWhereItLooked) {
  const XcclLibrary library({"", {"/nowhere/at/all"}, "nccl", unknown});
  EXPECT_NE(library.problem().find(unknown), std::string::npos) << library.problem();
  EXPECT_NE(library.problem().find("/nowhere/at/all"), std::string::npos) << library.problem();
  EXPECT_NE(library.problem().find("LINKSCOPE_XCCL"), std::string::npos) << library.problem();
}

TEST_F(XcclLibraryTest, RefusesAnotherLibraryNamingWhatItLacks) {
  const XcclLibrary library(at("libm.so.6"));
  EXPECT_NE(library.problem().find("ncclGetVersion"), std::string::npos) << library.problem();
  EXPECT_EQ(library.version(), "");
}

TEST_F(XcclLibraryTest, LeavesTheEnvironmentAsItIs) {
  unsetenv("NCCL_DEBUG_FILE");
  const XcclLibrary library(at(FAKE_XCCL));
  EXPECT_EQ(std::getenv("NCCL_NVLS_ENABLE"), nullptr);
  EXPECT_EQ(std::getenv("NCCL_DEBUG_FILE"), nullptr);
}

TEST_F(XcclLibraryTest, TellsWhetherItMayUseNvlinkSharp) {
  const auto note = [](std::optional<bool> multicast) { return XcclLibrary(at(FAKE_XCCL)).note(multicast); };
  EXPECT_EQ(note(std::nullopt), "nccl 2.28.9") << "of GPUs that tell nothing there is nothing to say";
  EXPECT_EQ(note(true), "nccl 2.28.9, NVLink SHARP as it chooses [nvls-free]");
  EXPECT_EQ(note(false), "nccl 2.28.9, no NVLink SHARP: the GPUs report no multicast [nvls-none]");
  setenv("NCCL_NVLS_ENABLE", "0", 1);
  EXPECT_EQ(note(true), "nccl 2.28.9, NCCL_NVLS_ENABLE=0, NVLink SHARP off [nvls-off]");
  setenv("NCCL_NVLS_ENABLE", "2", 1);
  EXPECT_EQ(note(true), "nccl 2.28.9, NCCL_NVLS_ENABLE=2, NVLink SHARP as it chooses [nvls-free]");
}

TEST_F(XcclLibraryTest, TellsWhatElseTheUserHasSet) {
  setenv("NCCL_PROTO", "LL", 1);
  setenv("NCCL_ALGO", "Ring", 1);
  setenv("NCCL_DEBUG", "WARN", 1);
  setenv("NCCL_VERSION", "2.28.3-1", 1);
  const std::string note = XcclLibrary(at(FAKE_XCCL)).note(std::nullopt);
  unsetenv("NCCL_PROTO");
  unsetenv("NCCL_ALGO");
  unsetenv("NCCL_DEBUG");
  unsetenv("NCCL_VERSION");
  EXPECT_EQ(note, "nccl 2.28.9, NCCL_ALGO=Ring, NCCL_PROTO=LL");
}

TEST_F(XcclLibraryTest, TellsAFaultInOneLine) {
  const XcclLibrary library(at(FAKE_XCCL));
  library.check(Result::success, "ncclSend");
  try {
    library.check(static_cast<Result>(2), "ncclSend");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::broken);
    EXPECT_STREQ(error.what(), "ncclSend: unhandled system error (2): socket closed by the other side");
  }
}

TEST_F(XcclLibraryTest, RegistersABufferOrSaysThatItHasNot) {
  const XcclLibrary library(at(FAKE_NEWER_XCCL));
  int buffer = 0;
  EXPECT_EQ(library.register_buffer(nullptr, &buffer, sizeof buffer), &buffer);
  const auto fault_of = [&](std::size_t bytes) -> std::optional<Error> {
    try {
      static_cast<void>(library.register_buffer(nullptr, &buffer, bytes));
    } catch (const Error& error) {
      return error;
    }
    return std::nullopt;
  };
  const auto refused = fault_of(0);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->fault(), Fault::broken);
  setenv("NCCL_LOCAL_REGISTER", "0", 1);
  const auto ignored = fault_of(sizeof buffer);
  ASSERT_TRUE(ignored);
  EXPECT_EQ(ignored->fault(), Fault::unsupported);
  EXPECT_STREQ(ignored->what(),
               "nccl 2.28.9: ncclCommRegister registered nothing and said that all is well, as where "
               "NCCL_LOCAL_REGISTER=0, NCCL_WIN_ENABLE=0 or NCCL_CUMEM_ENABLE=0");
}

TEST_F(XcclLibraryTest, SaysFromWhichVersionOnThereAreWindowsAndPolicies) {
  const XcclLibrary older(at(FAKE_XCCL));
  ASSERT_FALSE(older.has_windows());
  EXPECT_EQ(older.has_windows().reason(),
            "nccl 2.28.9 has no ncclCommWindowRegister, which came with NCCL 2.27");
  EXPECT_FALSE(older.takes({CtaPolicy::automatic, 4}));
  EXPECT_TRUE(older.takes({CtaPolicy::automatic, 0}));
  const XcclLibrary newer(at(FAKE_NEWER_XCCL));
  EXPECT_TRUE(newer.has_windows());
  EXPECT_TRUE(newer.takes({CtaPolicy::zero, 4}));
  setenv("FAKE_XCCL_VERSION", "22707", 1);
  const XcclLibrary before(at(FAKE_NEWER_XCCL));
  EXPECT_TRUE(before.takes({CtaPolicy::efficiency, 0}));
  ASSERT_FALSE(before.takes({CtaPolicy::zero, 0}));
  EXPECT_EQ(before.takes({CtaPolicy::zero, 0}).reason(),
            "nccl 2.27.7 has no policy zero, which came with NCCL 2.28");
  setenv("FAKE_XCCL_VERSION", "21903", 1);
  EXPECT_TRUE(XcclLibrary(at(FAKE_NEWER_XCCL)).takes({CtaPolicy::automatic, 8}));
  EXPECT_FALSE(XcclLibrary(at(FAKE_NEWER_XCCL)).takes({CtaPolicy::efficiency, 0}));
}

TEST_F(XcclLibraryTest, SendsTheSettingsInTheFormOfTheVersionThatItIs) {
  struct Config {  // as nccl.h of 2.27 has it
    std::size_t size;
    unsigned int magic, version;
    int blocking, cga_cluster_size, min_ctas, max_ctas;
    const char* net_name;
    int split_share, traffic_class;
    const char* comm_name;
    int collnet_enable, cta_policy, shrink_share, nvls_ctas;
  };
  const XcclLibrary library(at(FAKE_NEWER_XCCL));
  Comm* comm = nullptr;
  library.init(&comm, 2, UniqueId{}, 0, {CtaPolicy::zero, 4});
  void* handle = dlopen(FAKE_NEWER_XCCL, RTLD_NOW | RTLD_NOLOAD);
  const auto* sent =
      static_cast<const Config*>(reinterpret_cast<const void* (*)()>(dlsym(handle, "fake_config"))());
  dlclose(handle);
  EXPECT_EQ(sent->size, sizeof(Config));
  EXPECT_EQ(sent->magic, 0xcafebeefU);
  EXPECT_EQ(sent->version, 22809U);
  EXPECT_EQ(sent->min_ctas, 4);
  EXPECT_EQ(sent->max_ctas, 4);
  EXPECT_EQ(sent->cta_policy, 2);
  EXPECT_EQ(sent->blocking, INT_MIN);
  EXPECT_EQ(sent->net_name, nullptr);
  EXPECT_EQ(sent->nvls_ctas, INT_MIN);
}

TEST_F(XcclLibraryTest, EndsAGroupThatIsLeftByAnError) {
  const XcclLibrary library(at(FAKE_XCCL));
  {
    Group group(library);
    EXPECT_EQ(open_groups(), 1);
  }
  EXPECT_EQ(open_groups(), 0);
  {
    Group group(library);
    group.end();
    EXPECT_EQ(open_groups(), 0);
  }
  EXPECT_EQ(open_groups(), 0);
}

TEST(XcclVersion, IsReadAsTheLibraryEncodesIt) {
  EXPECT_EQ(version_text(22809), "2.28.9");
  EXPECT_EQ(version_text(21906), "2.19.6");
  EXPECT_EQ(version_text(2804), "2.8.4");
}

TEST(XcclFolders, AreThoseOfPythonPackagesThatExist) {
  const std::filesystem::path environment = std::filesystem::path(::testing::TempDir()) / "xccl-python";
  const std::filesystem::path folder = environment / "lib/python3.11/site-packages/nvidia/nccl/lib";
  std::filesystem::create_directories(folder);
  EXPECT_EQ(library_folders({environment, "/nowhere"}), std::vector<std::string>{folder});
  const std::filesystem::path debian = environment / "lib/python3.11/dist-packages/torch/lib";
  std::filesystem::create_directories(debian);
  EXPECT_EQ(library_folders({environment}), (std::vector<std::string>{folder, debian}));
  std::filesystem::remove_all(environment);
}

}  // namespace
}  // namespace linkscope::xccl
