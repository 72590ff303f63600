// Every memory of the GPU backend fills, poisons and compares itself, at any offset and length.
#include "any_memory.hpp"

namespace linkscope::testing {
namespace {

class GpuBuffer : public WithMemory {};

TEST_P(GpuBuffer, HoldsThePatternItWasFilledWith) {
  const auto buffer = allocate();
  if (buffer == nullptr) GTEST_SKIP();
  std::uint64_t seed = 1;
  for (const Bytes offset : {Bytes{0}, Bytes{5}, Bytes{4096}}) {
    for (const Bytes length : {Bytes{1}, Bytes{7}, Bytes{16}, Bytes{100}, Bytes{4097}, 2 * MiB + 3}) {
      buffer->fill(offset, length, ++seed);
      EXPECT_EQ(buffer->compare(offset, length, seed), std::nullopt) << offset << " " << length;
      EXPECT_TRUE(buffer->compare(offset, length, seed + 1).has_value()) << offset << " " << length;
    }
  }
}

TEST_P(GpuBuffer, NamesTheFirstBadByte) {
  const auto buffer = allocate();
  if (buffer == nullptr) GTEST_SKIP();
  constexpr Bytes length = 2 * MiB + 11;
  for (const Bytes bad : {Bytes{0}, Bytes{13}, Bytes{1000001}, length - 1}) {
    buffer->fill(0, length, 7);
    buffer->poison(bad, 1);
    const auto found = buffer->compare(0, length, 7);
    // A poisoned byte may happen to be the pattern's own: then there is nothing to find.
    if (found) {
      EXPECT_EQ(*found, bad);
    }
    buffer->poison(bad, length - bad);
    ASSERT_TRUE(buffer->compare(0, length, 8).has_value());
  }
}

TEST_P(GpuBuffer, LeavesItsSurroundingsAlone) {
  const auto buffer = allocate();
  if (buffer == nullptr) GTEST_SKIP();
  buffer->fill(0, 4096, 3);
  buffer->fill(8192, 4096, 4);
  buffer->fill(4096, 4095, 5);
  EXPECT_EQ(buffer->compare(0, 4096, 3), std::nullopt);
  EXPECT_EQ(buffer->compare(8192, 4096, 4), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Memories, GpuBuffer, ::testing::ValuesIn(memories), memory_test_name);

}  // namespace
}  // namespace linkscope::testing
