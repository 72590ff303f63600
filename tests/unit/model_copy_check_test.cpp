// CopyCheck: what it finds, and that it finds it in the right slot. On plain memory, without a backend.
#include "model/copy_check.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "model/pattern.hpp"

namespace linkscope {
namespace {

/// A buffer as the contract describes it, in the simplest way.
class PlainBuffer final : public Buffer {
 public:
  explicit PlainBuffer(Bytes bytes) : Buffer({}, bytes), memory_(bytes) {}
  [[nodiscard]] std::byte* data() const override { return const_cast<std::byte*>(memory_.data()); }
  void fill(Bytes offset, Bytes length, std::uint64_t seed) override {
    for (Bytes i = 0; i < length; ++i) memory_[offset + i] = pattern_byte(seed, i);
  }
  void poison(Bytes offset, Bytes length) override { std::memset(data() + offset, poison_byte, length); }
  [[nodiscard]] std::optional<Bytes> compare(Bytes offset, Bytes length, std::uint64_t seed) const override {
    for (Bytes i = 0; i < length; ++i) {
      if (memory_[offset + i] != pattern_byte(seed, i)) return i;
    }
    return std::nullopt;
  }
  void flush(Bytes, Bytes) override {}

 private:
  static std::byte pattern_byte(std::uint64_t seed, Bytes i) {
    const std::uint64_t word = pattern_word(seed, i / 8);
    std::byte bytes[8];
    std::memcpy(bytes, &word, 8);
    return bytes[i % 8];
  }
  std::vector<std::byte> memory_;
};

/// Slots of 100 B with gaps (stride 128) or 128 B without.
class CopyCheckSlots : public ::testing::TestWithParam<Bytes> {
 protected:
  CopyCheckSlots()
      : source_(4 * 128), destination_(4 * 128), check_(&source_, &destination_, GetParam(), {128, 4}) {}
  void copy(std::uint64_t from, std::uint64_t to) {
    std::memcpy(destination_.data() + to * 128, source_.data() + from * 128, GetParam());
  }
  PlainBuffer source_;
  PlainBuffer destination_;
  CopyCheck check_;
};

TEST_P(CopyCheckSlots, AcceptsWhatWasCopiedAndOnlyThat) {
  check_.arm(1);
  copy(0, 0);
  copy(1, 1);
  EXPECT_FALSE(check_.verify(1, 2).has_value());
  const auto third = check_.verify(1, 3);
  ASSERT_TRUE(third.has_value());
  EXPECT_NE(third->what.find("byte 0 of " + std::to_string(GetParam()) + " in slot 2 of 4"),
            std::string::npos)
      << third->what;
  EXPECT_EQ(check_.verified_bytes(2), 2 * GetParam());
  EXPECT_EQ(check_.verified_bytes(9), 4 * GetParam());
}

TEST_P(CopyCheckSlots, FindsACopyOfTheWrongSlot) {
  check_.arm(1);
  copy(0, 0);
  copy(0, 1);
  ASSERT_TRUE(check_.verify(1, 2).has_value());
}

TEST_P(CopyCheckSlots, FindsDataOfAnEarlierRound) {
  check_.arm(1);
  for (std::uint64_t slot = 0; slot < 4; ++slot) copy(slot, slot);
  EXPECT_FALSE(check_.verify(1, 4).has_value());
  EXPECT_TRUE(check_.verify(2, 4).has_value());
}

TEST_P(CopyCheckSlots, NamesTheFirstBadByteAndADamagedSource) {
  check_.arm(3);
  for (std::uint64_t slot = 0; slot < 4; ++slot) copy(slot, slot);
  destination_.data()[2 * 128 + 77] ^= std::byte{1};
  auto bad = check_.verify(3, 4);
  ASSERT_TRUE(bad.has_value());
  EXPECT_EQ(bad->what.rfind("byte 77 of", 0), 0U) << bad->what;
  EXPECT_EQ(bad->what.find("source"), std::string::npos) << bad->what;
  source_.data()[2 * 128 + 99] ^= std::byte{1};
  bad = check_.verify(3, 4);
  ASSERT_TRUE(bad.has_value());
  EXPECT_NE(bad->what.find("source"), std::string::npos) << bad->what;
}

TEST_P(CopyCheckSlots, SlotSeedGivesEachSlotsOwnPattern) {
  check_.arm(9);
  for (std::uint64_t slot = 0; slot < 4; ++slot) {
    EXPECT_EQ(source_.compare(slot * 128, GetParam(), check_.slot_seed(9, slot)), std::nullopt);
  }
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutGaps, CopyCheckSlots, ::testing::Values(100, 128));

TEST(CopyCheck, RefusesSlotsThatDoNotFit) {
  PlainBuffer small(255);
  EXPECT_THROW(CopyCheck(&small, nullptr, 128, {128, 2}), Error);
  EXPECT_THROW(CopyCheck(&small, nullptr, 64, {60, 2}), Error);
  EXPECT_THROW(CopyCheck(&small, nullptr, 9, {12, 2}), Error);
  EXPECT_NO_THROW(CopyCheck(&small, nullptr, 255, {0, 1}));
}

TEST(Pattern, ShiftedSeedContinuesThePattern) {
  for (const std::uint64_t shift : {0ULL, 1ULL, 4096ULL, 123456789012345ULL}) {
    EXPECT_EQ(pattern_word(shifted_seed(77, shift), 5), pattern_word(77, shift + 5));
  }
}

}  // namespace
}  // namespace linkscope
