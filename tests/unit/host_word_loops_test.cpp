// Word loops and their non-temporal forms: equal to the plain definition at any alignment and length.
#include "backend/host/word_loops.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "backend/host/host_buffer.hpp"
#include "model/pattern.hpp"

namespace linkscope::host {
namespace {

constexpr std::size_t arena = 20000;
constexpr std::byte untouched{0xA5};
constexpr std::array<std::size_t, 5> offsets = {64, 72, 88, 65, 127};
constexpr std::array<Bytes, 11> lengths = {0, 1, 7, 8, 63, 64, 65, 128, 1000, 4097, 9001};

class WordLoops : public ::testing::Test {
 protected:
  alignas(64) std::array<std::byte, arena> expected_{};
  alignas(64) std::array<std::byte, arena> found_{};

  /// The pattern from its definition, surrounded by what must stay as it is.
  void expect_pattern(std::size_t offset, Bytes bytes, std::uint64_t seed, std::uint64_t first) {
    expected_.fill(untouched);
    for (Bytes i = 0; i < bytes; ++i) {
      const std::uint64_t word = pattern_word(seed, first + i / 8);
      expected_[offset + i] = static_cast<std::byte>(word >> (i % 8 * 8));
    }
  }
};

TEST_F(WordLoops, FillThePatternAndNothingBeside) {
  for (const FillFunction fill : {widest_fill(), non_temporal_fill()}) {
    if (fill == nullptr) continue;
    for (const std::size_t offset : offsets) {
      for (const Bytes bytes : lengths) {
        expect_pattern(offset, bytes, 5, 3);
        found_.fill(untouched);
        fill(found_.data() + offset, bytes, 5, 3);
        EXPECT_EQ(found_, expected_) << bytes << " B at " << offset;
      }
    }
  }
}

TEST_F(WordLoops, SumTheSame) {
  for (const SumFunction sum : {widest_sum(), non_temporal_sum()}) {
    if (sum == nullptr) continue;
    for (const std::size_t offset : offsets) {
      for (const Bytes bytes : lengths) {
        expect_pattern(offset, bytes, 9, 1);
        const std::uint64_t right = sum_of_pattern(bytes, 9, 1);
        EXPECT_EQ(sum(expected_.data() + offset, bytes), right) << bytes << " B at " << offset;
        if (bytes == 0) continue;
        expected_[offset + bytes - 1] ^= std::byte{1};
        EXPECT_NE(sum(expected_.data() + offset, bytes), right) << "one bit of " << bytes << " B";
      }
    }
  }
}

TEST_F(WordLoops, CopyTheSame) {
  const CopyFunction copy = non_temporal_copy();
  if (copy == nullptr) GTEST_SKIP() << can_store_non_temporal().reason();
  for (const std::size_t offset : offsets) {
    for (const Bytes bytes : lengths) {
      expect_pattern(offset, bytes, 2, 0);
      found_.fill(untouched);
      copy(found_.data() + offset, expected_.data() + offset, bytes);
      EXPECT_EQ(found_, expected_) << bytes << " B at " << offset;
    }
  }
}

TEST_F(WordLoops, FlushedLinesHoldWhatTheyHeld) {
  if (const Support support = can_flush_caches(); !support) GTEST_SKIP() << support.reason();
  expect_pattern(65, 9001, 4, 0);
  found_ = expected_;
  flush_caches(found_.data() + 65, 9001);
  EXPECT_EQ(found_, expected_);
}

}  // namespace
}  // namespace linkscope::host
