// Byte counts as people read them.
#include <gtest/gtest.h>

#include "base/units.hpp"

namespace linkscope {
namespace {

TEST(FormatBytes, WholeUnitsHaveNoDecimals) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(96), "96 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(512 * MiB), "512 MiB");
  EXPECT_EQ(format_bytes(3 * GiB), "3 GiB");
}

TEST(FormatBytes, BrokenUnitsHaveOne) {
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(MiB - 1), "1 MiB") << "never 1024.0 KiB";
}

TEST(Gbps, IsDecimal) { EXPECT_DOUBLE_EQ(gbps(2'000'000'000, 0.5), 4.0); }

}  // namespace
}  // namespace linkscope
