// Host buffers: filling, comparing and poisoning, at odd offsets, sizes and across threads.
#include "backend/host/host_buffer.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <set>
#include <vector>

#include "backend/host/topology.hpp"
#include "model/pattern.hpp"

namespace linkscope::host {
namespace {

/// The pattern's bytes by the contract's words, one at a time.
std::vector<std::byte> expected(Bytes length, std::uint64_t seed) {
  std::vector<std::byte> bytes(length + 8);
  for (Bytes i = 0; i * 8 < length; ++i) {
    const std::uint64_t word = pattern_word(seed, i);
    std::memcpy(bytes.data() + i * 8, &word, 8);
  }
  bytes.resize(length);
  return bytes;
}

class HostBufferTest : public ::testing::Test {
 protected:
  HostBuffer over(std::vector<std::byte>& memory) { return {{}, memory.size(), memory.data(), {}, workers_}; }

  WorkerPool workers_{{0}};
};

class HostBufferRange : public HostBufferTest,
                        public ::testing::WithParamInterface<std::pair<Bytes, Bytes>> {};

TEST_P(HostBufferRange, HoldsThePatternAndNothingOutside) {
  const auto [offset, length] = GetParam();
  std::vector<std::byte> memory(offset + length + 16, std::byte{0x11});
  HostBuffer buffer = over(memory);
  buffer.fill(offset, length, 42);
  const auto bytes = expected(length, 42);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), memory.begin() + static_cast<std::ptrdiff_t>(offset)));
  EXPECT_EQ(std::count(memory.begin(), memory.begin() + static_cast<std::ptrdiff_t>(offset), std::byte{0x11}),
            static_cast<std::ptrdiff_t>(offset));
  EXPECT_EQ(std::count(memory.end() - 16, memory.end(), std::byte{0x11}), 16);
  EXPECT_EQ(buffer.compare(offset, length, 42), std::nullopt);
  EXPECT_NE(buffer.compare(offset, length, 43), std::nullopt);
}

TEST_P(HostBufferRange, NamesTheFirstBadByte) {
  const auto [offset, length] = GetParam();
  std::vector<std::byte> memory(offset + length, std::byte{0});
  HostBuffer buffer = over(memory);
  buffer.fill(offset, length, 7);
  const std::set<Bytes, std::greater<>> places{length - 1, length / 2, 0};
  for (const Bytes bad : places) {  // each before those that are bad already
    memory[offset + bad] ^= std::byte{1};
    EXPECT_EQ(buffer.compare(offset, length, 7), bad);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranges, HostBufferRange,
                         ::testing::Values(std::pair<Bytes, Bytes>{0, 1}, std::pair<Bytes, Bytes>{0, 7},
                                           std::pair<Bytes, Bytes>{3, 8}, std::pair<Bytes, Bytes>{1, 4095},
                                           std::pair<Bytes, Bytes>{0, 4096}, std::pair<Bytes, Bytes>{8, 4097},
                                           std::pair<Bytes, Bytes>{5, 12345},
                                           std::pair<Bytes, Bytes>{64, 3 * MiB + 5}));

TEST_F(HostBufferTest, PoisonCoversExactlyItsRange) {
  std::vector<std::byte> memory(1 * MiB, std::byte{0});
  HostBuffer buffer = over(memory);
  buffer.poison(13, 600001);
  EXPECT_EQ(std::count(memory.begin(), memory.end(), std::byte{poison_byte}), 600001);
  EXPECT_EQ(memory[12], std::byte{0});
  EXPECT_EQ(memory[13], std::byte{poison_byte});
}

TEST_F(HostBufferTest, FlushLeavesTheBytes) {
  std::vector<std::byte> memory(100001);
  HostBuffer buffer = over(memory);
  buffer.fill(0, memory.size(), 5);
  buffer.flush(1, memory.size() - 1);
  EXPECT_EQ(buffer.compare(0, memory.size(), 5), std::nullopt);
}

TEST_F(HostBufferTest, GivesTheMemoryBackOnce) {
  std::vector<std::byte> memory(8);
  int given_back = 0;
  {
    const HostBuffer buffer(
        {}, 8, memory.data(), [&](std::byte* at) { given_back += at == memory.data() ? 1 : 100; }, workers_);
  }
  EXPECT_EQ(given_back, 1);
}

TEST(Workers, ShareCutsARangeIntoDisjointPieces) {
  WorkerPool workers({0, 0, 0});
  std::vector<std::uint8_t> times(2 * MiB + 321, 0);
  std::atomic<int> pieces{0};
  workers.share_pinned(times.size(), [&](Bytes offset, Bytes length) {
    ++pieces;
    for (Bytes i = offset; i < offset + length; ++i) ++times[i];
  });
  EXPECT_EQ(pieces, 3);
  EXPECT_EQ(std::count(times.begin(), times.end(), 1), static_cast<std::ptrdiff_t>(times.size()));
}

TEST(Workers, RunOnTheCpuTheyArePinnedTo) {
  const Topology topology = Topology::read();
  for (const Node& node : topology.nodes()) {
    if (node.cpus.empty()) continue;
    WorkerPool workers(node.cpus);
    const std::size_t last = std::min<std::size_t>(node.cpus.size(), 4) - 1;
    int seen = -1;
    workers.worker(last).start([&] { seen = sched_getcpu(); });
    workers.worker(last).wait();
    EXPECT_EQ(seen, node.cpus[last]);
  }
}

}  // namespace
}  // namespace linkscope::host
