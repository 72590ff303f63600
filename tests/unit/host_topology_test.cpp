// The topology's choices on stated nodes, and the reading of what Linux writes.
#include "backend/host/topology.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "backend/host/context.hpp"
#include "backend/host/memory_room.hpp"
#include "backend/host/sysfs.hpp"
#include "base/error.hpp"

namespace linkscope::host {
namespace {

/// Two sockets and, as on a GPU with coherent memory, a node 2 without CPUs near node 1.
Topology with_memory_only_node() {
  Node near;
  near.index = 0;
  near.cpus = {0};
  near.memory_bytes = GiB;
  near.llc_bytes = 32 * MiB;
  near.distances = {{0, 10}, {1, 20}, {2, 80}};
  Node far = near;
  far.index = 1;
  far.llc_bytes = 64 * MiB;
  far.distances = {{0, 20}, {1, 10}, {2, 40}};
  Node memory;
  memory.index = 2;
  memory.memory_bytes = GiB;
  memory.distances = {{0, 80}, {1, 40}, {2, 10}};
  return {{near, far, memory}, "test"};
}

TEST(HostTopology, NodeWithoutCpusIsWorkedOnFromTheNearest) {
  const Topology topology = with_memory_only_node();
  EXPECT_EQ(topology.nearest_with_cpus(0).index, 0);
  EXPECT_EQ(topology.nearest_with_cpus(1).index, 1);
  EXPECT_EQ(topology.nearest_with_cpus(2).index, 1);
}

TEST(HostTopology, NodeWithoutCpusHoldsButDoesNotExecute) {
  const HostContext context(with_memory_only_node());
  const DeviceId memory_only{DeviceKind::numa, 2};
  EXPECT_TRUE(context.can_hold(memory_only));
  EXPECT_FALSE(context.can_execute(memory_only));
  EXPECT_FALSE(context.can_hold({DeviceKind::gpu, 0}));
  EXPECT_FALSE(context.can_execute({DeviceKind::numa, 3}));
}

TEST(HostTopology, EachNodeHasItsLastLevelCache) {
  const HostContext context(with_memory_only_node());
  EXPECT_EQ(context.last_level_cache({DeviceKind::numa, 0}), 32 * MiB);
  EXPECT_EQ(context.last_level_cache({DeviceKind::numa, 1}), 64 * MiB);
  EXPECT_EQ(context.last_level_cache({DeviceKind::numa, 2}), 0U);
  EXPECT_EQ(context.last_level_cache({DeviceKind::gpu, 0}), 0U);
}

TEST(HostTopology, RotatedCopiesCycleThroughAllCachesInUseManyTimes) {
  const HostContext context(with_memory_only_node());
  const DeviceId near{DeviceKind::numa, 0};
  const DeviceId far{DeviceKind::numa, 1};
  EXPECT_LE(context.rotation_bytes({near}), 8 * 32 * MiB);
  EXPECT_GT(context.rotation_bytes({near, far}), context.rotation_bytes({near}));
  EXPECT_LE(context.rotation_bytes({near, far}), 8 * 96 * MiB);
  if (MemoryRoom::now().value_or(1024 * GiB) > 32 * GiB) {
    EXPECT_EQ(context.rotation_bytes({near, far}), 8 * 96 * MiB);
  }
  EXPECT_GE(context.rotation_bytes({near, far}), 2 * 96 * MiB) << "however little memory there is";
  EXPECT_EQ(context.rotation_bytes({{DeviceKind::gpu, 0}}), 0U);
}

TEST(HostTopology, InAVirtualMachineSmallCachesAreNotBelieved) {
  Node node;
  node.cpus = std::vector<int>(64, 0);
  node.memory_bytes = GiB;
  node.llc_bytes = 1 * MiB;
  const DeviceId id{DeviceKind::numa, 0};
  EXPECT_LE(HostContext({{node}, "test"}).rotation_bytes({id}), 8 * MiB);
  EXPECT_GE(HostContext({{node}, "test", true}).rotation_bytes({id}), 2 * 128 * MiB);
}

TEST(CpuSets, HoldCpusOfAnyNumber) {
  EXPECT_EQ(CpuSet({5, 1023, 1024, 9000}).cpus(), (std::vector<int>{5, 1023, 1024, 9000}));
  EXPECT_TRUE(CpuSet(std::vector<int>{}).cpus().empty());
  EXPECT_FALSE(CpuSet::of_this_thread().cpus().empty());
}

TEST(CpuSets, KeepAThreadToTheirCpus) {
  const CpuSet before = CpuSet::of_this_thread();
  ASSERT_EQ(CpuSet({before.cpus().back()}).keep(pthread_self()), 0);
  EXPECT_EQ(CpuSet::of_this_thread().cpus(), std::vector<int>{before.cpus().back()});
  ASSERT_EQ(before.keep(pthread_self()), 0);
  EXPECT_EQ(CpuSet::of_this_thread().cpus(), before.cpus());
}

TEST(HostTopology, NoCpuAtAllIsAnError) {
  EXPECT_THROW((void)Topology({}, "none").nearest_with_cpus(0), Error);
}

TEST(HostTopology, ThisMachineHasAUsableNode) {
  const Topology topology = Topology::read();
  const Node& node = topology.nearest_with_cpus(0);
  EXPECT_FALSE(node.cpus.empty());
  EXPECT_EQ(node.distances.at(node.index), 10);
}

TEST(Sysfs, ListsOfCpus) {
  EXPECT_EQ(parse_list("0-3,8,10-11"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_list("5"), std::vector<int>{5});
  EXPECT_TRUE(parse_list("").empty());
}

class SysfsFile : public ::testing::Test {
 protected:
  void write(const std::string& text) const { std::ofstream(path_) << text; }
  void TearDown() override { std::remove(path_.c_str()); }
  /// Of this process alone: tests run side by side.
  std::string path_ = ::testing::TempDir() + "linkscope_sysfs_test_" + std::to_string(getpid());
};

TEST_F(SysfsFile, Sizes) {
  write("32768K\n");
  EXPECT_EQ(read_bytes(path_), 32 * MiB);
  write("123\n");
  EXPECT_EQ(read_bytes(path_), 123U);
  write("max\n");
  EXPECT_EQ(read_bytes(path_), std::nullopt);
  EXPECT_EQ(read_bytes(path_ + ".missing"), std::nullopt);
}

TEST_F(SysfsFile, KeyedLinesOfEveryKind) {
  write("MemTotalish: 1 kB\nMemTotal:       4 kB\nNode 0 MemFree:  2 kB\ninactive_file 77\n");
  EXPECT_EQ(read_keyed(path_, "MemTotal"), 4 * KiB);
  EXPECT_EQ(read_keyed(path_, "MemFree"), 2 * KiB);
  EXPECT_EQ(read_keyed(path_, "inactive_file"), 77U);
  EXPECT_EQ(read_keyed(path_, "Mem"), std::nullopt);
}

TEST_F(SysfsFile, ChoicesInBrackets) {
  write("always [madvise] never\n");
  EXPECT_EQ(read_choice(path_), "madvise");
}

TEST(MemoryRoom, MoreThanTheMachineCouldEverGiveIsNoMemory) {
  if (!MemoryRoom::now()) GTEST_SKIP() << "this system does not say how much memory is available";
  EXPECT_THROW(MemoryRoom::wait_for(Bytes{1} << 60U, std::nullopt), Error);
}

}  // namespace
}  // namespace linkscope::host
