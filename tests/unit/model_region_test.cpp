// Regions: what they hold, where their rows are, and which shapes are refused.
#include "model/region.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/error.hpp"

namespace linkscope {
namespace {

Flow flow(Bytes bytes, const std::string& region, const std::string& in = "") {
  Flow flow;
  flow.bytes = bytes;
  if (!region.empty()) flow.parameters.set("region", region);
  if (!in.empty()) flow.parameters.set("in", in);
  return flow;
}

TEST(Region, LiesInItsAllocationRowByRowAndPlaneByPlane) {
  const Region region = region_of(flow(24, "4x3x2", "10x5x7"));
  EXPECT_EQ(region, (Region{4, 3, 2, 10, 50}));
  EXPECT_EQ(region.payload(), 24);
  EXPECT_EQ(region.footprint(), 100);
  const std::array<Bytes, 6> offsets = {0, 10, 20, 50, 60, 70};
  for (std::uint64_t row = 0; row < offsets.size(); ++row) EXPECT_EQ(region.row_offset(row), offsets.at(row));
}

TEST(Region, ContainsItsPayloadAndNothingElse) {
  for (const auto& [shape, in, bytes] : {std::array<std::string, 3>{"4x3x2", "10x5x7", "24"},
                                         {"1x1x1", "1x1x1", "1"},
                                         {"7x1x3", "7x2x3", "21"}}) {
    const Region region = region_of(flow(std::stoull(bytes), shape, in));
    Bytes inside = 0;
    for (Bytes offset = 0; offset < 2 * region.footprint(); ++offset)
      inside += region.contains(offset) ? 1 : 0;
    EXPECT_EQ(inside, region.payload()) << shape;
    for (std::uint64_t row = 0; row < region.rows * region.planes; ++row) {
      EXPECT_TRUE(region.contains(region.row_offset(row)));
      EXPECT_TRUE(region.contains(region.row_offset(row) + region.width - 1));
      if (region.width < region.pitch) {
        EXPECT_FALSE(region.contains(region.row_offset(row) + region.width));
      }
    }
  }
}

TEST(Region, WithoutParametersIsOneRowOfAllBytes) {
  const Region region = region_of(flow(4096, ""));
  EXPECT_EQ(region, (Region{4096, 1, 1, 4096, 4096}));
}

TEST(Region, HasNoGapsInNoLargerAllocation) {
  EXPECT_EQ(region_of(flow(64 * 8, "64x8")).footprint(), 64 * 8);
  EXPECT_EQ(region_of(flow(64 * 8, "64x8", "64x9")).footprint(), 64 * 9);
  EXPECT_EQ(region_of(flow(64 * 8, "64x4x2", "65x4x2")).footprint(), 65 * 4 * 2);
}

TEST(Region, PackedHoldsTheSameBytesWithoutGaps) {
  const Region region = region_of(flow(24, "4x3x2", "10x5x7"));
  EXPECT_EQ(region.packed().payload(), region.payload());
  EXPECT_EQ(region.packed().footprint(), region.payload());
  EXPECT_EQ(region.packed().row_offset(4), 16);
}

TEST(Region, StackedWithItsLikeCoversTheRowsBelow) {
  const Region region = region_of(flow(24, "4x3x2", "10x11x7"));
  EXPECT_EQ(region.stackable(), 3U);
  const Region all = region.stacked(3);
  for (Bytes offset = 0; offset < region.footprint(); ++offset) {
    const Bytes in_plane = offset % region.plane_pitch;
    const Bytes slot = std::min<Bytes>(in_plane / (region.rows * region.pitch), 3);
    const bool in_one = slot < 3 && region.contains(offset - slot * region.rows * region.pitch);
    EXPECT_EQ(all.contains(offset), in_one) << offset;
  }
  EXPECT_EQ(region_of(flow(24, "4x3x2", "10x5x7")).stackable(), 1U);
}

TEST(Region, OfAShapeThatIsNoneIsRefused) {
  for (const char* shape : {"", "x", "4x", "4x0", "0x4", "-4x1", "4x1x1x1", "4 x1", "4X1", "four",
                            "99999999999999999999x1", "1099511627776x1099511627776x2"}) {
    Flow wanted = flow(4, "4");
    wanted.parameters.set("region", shape);
    EXPECT_THROW(static_cast<void>(region_of(wanted)), Error) << shape;
  }
}

TEST(Region, ThatDoesNotFitOrDoesNotCarryTheFlowsBytesIsRefusedWithBothNumbers) {
  try {
    static_cast<void>(region_of(flow(25, "4x3x2", "10x5x7")));
    FAIL() << "25 bytes are not 24";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::bad_input);
    EXPECT_NE(std::string(error.what()).find("24 bytes, the flow has 25"), std::string::npos) << error.what();
  }
  EXPECT_THROW(static_cast<void>(region_of(flow(24, "4x3x2", "3x3x2"))), Error);
  EXPECT_THROW(static_cast<void>(region_of(flow(24, "4x3x2", "4x2x2"))), Error);
  EXPECT_THROW(static_cast<void>(region_of(flow(24, "4x3x2", "4x3x1"))), Error);
}

}  // namespace
}  // namespace linkscope
