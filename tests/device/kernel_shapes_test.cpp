// What kernel methods work out before any GPU is asked: launch shapes, access patterns, atomic work.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "backend/gpu/gpu_method.hpp"
#include "backend/gpu/kernel/access_pattern.hpp"
#include "backend/gpu/kernel/atomic_work.hpp"
#include "backend/gpu/kernel/bulk_shape.hpp"
#include "backend/gpu/kernel/launch_shape.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

constexpr unsigned warp = 32;

Flow flow_of(Bytes bytes, const std::map<std::string, std::string>& parameters) {
  Flow flow;
  flow.bytes = bytes;
  for (const auto& [name, value] : parameters) flow.parameters.set(name, value);
  return flow;
}

GpuProperties of_processors(int count) {
  GpuProperties device;
  device.multiprocessors = count;
  return device;
}

/// Bytes of a slot that an access covers, one by one.
Bytes covered(const AccessPattern& pattern) {
  Bytes bytes = 0;
  for (Bytes offset = 0; offset < pattern.span(); ++offset) bytes += pattern.covers(offset) ? 1 : 0;
  return bytes;
}

TEST(AccessPattern, CoversThePayloadAndNothingElse) {
  const std::map<std::string, std::string> shapes[] = {
      {{"width", "1"}},
      {{"width", "4"}, {"stride", "7"}},
      {{"width", "16"}, {"stride", "3"}},
      {{"width", "2"}, {"chunk", "64"}, {"fill", "9"}},
      {{"width", "4"}, {"chunk", "32"}},
      {{"width", "8"}, {"fill", "31"}},
      {{"chunk", "5"}},
  };
  for (const auto& shape : shapes) {
    for (const Bytes bytes : {Bytes{16}, Bytes{4096}, Bytes{30 * 1024 + 16}}) {
      const AccessPattern pattern = AccessPattern::of(flow_of(bytes, shape), warp);
      EXPECT_EQ(covered(pattern), bytes) << shape.begin()->first << " " << bytes;
      EXPECT_EQ(pattern.accesses() * pattern.width, bytes);
      std::uint64_t of_lanes = 0;
      for (std::uint64_t lane = 0; lane < warp; ++lane) of_lanes += pattern.units_of_lane(lane);
      EXPECT_EQ(of_lanes, pattern.accesses());
    }
  }
}

TEST(AccessPattern, SpansPayloadTimesStrideOrChunkOverFill) {
  EXPECT_EQ(AccessPattern::of(flow_of(4096, {{"width", "4"}, {"stride", "256"}}), warp).span(), 4096 * 256);
  EXPECT_EQ(AccessPattern::of(flow_of(4096, {{"width", "4"}, {"chunk", "256"}, {"fill", "2"}}), warp).span(),
            4096 * 128);
  EXPECT_EQ(AccessPattern::of(flow_of(4096, {{"width", "8"}}), warp).span(), 4096);
}

TEST(RotationSpread, CountsTheLinesThatAreTouched) {
  EXPECT_EQ(rotation_spread(16, 16), 1);     // dense
  EXPECT_EQ(rotation_spread(4, 128), 1);     // every line holds a word
  EXPECT_EQ(rotation_spread(4, 512), 4);     // a line in four
  EXPECT_EQ(rotation_spread(130, 1024), 4);  // two lines in eight
  EXPECT_EQ(rotation_spread(4, 4096), 8);    // no more than eightfold
  EXPECT_EQ(rotation_spread(1024, 1024), 1);
}

TEST(AccessPattern, IsAskedForByItsOwnParametersAlone) {
  EXPECT_FALSE(
      AccessPattern::asked(flow_of(64, {{"blocks", "8"}, {"unroll", "4"}, {"graph", "2"}}).parameters));
  for (const char* name : {"width", "stride", "chunk", "fill"})
    EXPECT_TRUE(AccessPattern::asked(flow_of(64, {{name, "1"}}).parameters)) << name;
}

TEST(AccessPattern, OfMoreLanesThanAWarpHasIsThisGpusLimitAlone) {
  const Flow wide = flow_of(4096, {{"chunk", "64"}, {"fill", "64"}});
  EXPECT_EQ(AccessPattern::of(wide, 64).fill, 64);
  try {
    static_cast<void>(AccessPattern::of(wide, 32));
    FAIL() << "a warp of 32 has no 64 lanes";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::unsupported) << error.what();
  }
}

TEST(AccessPattern, RejectsWhatCannotBe) {
  const std::map<std::string, std::string> wrong[] = {
      {{"width", "3"}},   {{"width", "32"}},
      {{"width", "0"}},   {{"stride", "0"}},
      {{"stride", "-4"}}, {{"stride", "2"}, {"chunk", "32"}},
      {{"fill", "33"}},   {{"chunk", "8"}, {"fill", "9"}},
  };
  for (const auto& parameters : wrong) {
    EXPECT_THROW(AccessPattern::of(flow_of(4096, parameters), warp), Error)
        << parameters.begin()->first << " " << parameters.begin()->second;
  }
  EXPECT_EQ(AccessPattern::of(flow_of(4096, {{"fill", "33"}}), 64).fill, 33);  // AMD's warps are wider
}

TEST(LaunchShapes, OfferShortBlocksOnlyWhereTheyFillTheDevice) {
  const auto has_tiles = [](Bytes threads) {
    const auto shapes = shapes_for(of_processors(132), threads, {});
    return std::any_of(shapes.begin(), shapes.end(),
                       [](const LaunchShape& shape) { return shape.blocks == one_tile_each; });
  };
  EXPECT_FALSE(has_tiles(4096));
  EXPECT_TRUE(has_tiles(32 * MiB));
}

TEST(LaunchShapes, OfTilesHaveABlockForEveryTile) {
  const LaunchShape shape{one_tile_each, 512, 4, Access::cached};
  EXPECT_EQ(with_a_block_per_tile(shape, 2048).blocks, 1);
  EXPECT_EQ(with_a_block_per_tile(shape, 2049).blocks, 2);
  EXPECT_EQ(with_a_block_per_tile(shape, 1).blocks, 1);
}

TEST(LaunchShapes, ComeBackFromTheirSettings) {
  for (const LaunchShape& shape : shapes_for(of_processors(132), 64 * MiB, {}))
    EXPECT_EQ(LaunchShape::from(shape.setting()), shape);
}

TEST(LaunchShapes, GiveNoThreadNothingToDo) {
  for (const LaunchShape& shape : shapes_for(of_processors(132), 1000, {}))
    EXPECT_LT(static_cast<std::uint64_t>(shape.blocks - 1) * shape.threads, 1000) << shape.threads;
}

constexpr BulkLimits hopper{132, 227 * KiB};

TEST(BulkShapes, FitTheSharedMemoryOfABlock) {
  for (const BulkLimits& limits : {hopper, BulkLimits{132, 64 * KiB}}) {
    const auto shapes = bulk_shapes_for(limits, GiB, {});
    EXPECT_FALSE(shapes.empty());
    for (const BulkShape& shape : shapes) EXPECT_LE(shape.shared_bytes(), limits.shared_bytes);
  }
}

TEST(BulkShapes, OfferFewAndManyBlocks) {
  std::set<unsigned> blocks;
  for (const BulkShape& shape : bulk_shapes_for(hopper, GiB, {})) blocks.insert(shape.blocks);
  for (const unsigned wanted : {16U, 33U, 66U, 132U, 264U}) EXPECT_TRUE(blocks.contains(wanted)) << wanted;
}

TEST(BulkShapes, GiveEveryWarpAPieceOfSmallCopies) {
  for (const Bytes bytes : {Bytes{1}, Bytes{16}, 4 * KiB, 64 * KiB, MiB}) {
    for (const BulkShape& shape : bulk_shapes_for(hopper, bytes, {})) {
      const Bytes pieces = std::max<Bytes>((bytes + shape.stage_bytes - 1) / shape.stage_bytes, 1);
      EXPECT_LE(static_cast<Bytes>(shape.blocks - 1) * shape.warps(), pieces) << bytes;
      EXPECT_EQ(shape.stage_bytes % 16, 0);
    }
  }
}

TEST(BulkShapes, AreFixedByParametersOrRejected) {
  const auto fixed = [](const std::map<std::string, std::string>& parameters) {
    return bulk_shapes_for(hopper, GiB, flow_of(GiB, parameters).parameters);
  };
  const auto shapes = fixed({{"blocks", "7"}, {"threads", "64"}, {"stages", "2"}, {"stage_bytes", "4096"}});
  ASSERT_EQ(shapes.size(), 1);
  EXPECT_EQ(shapes.front(), (BulkShape{7, 64, 2, 4096}));
  EXPECT_EQ(BulkShape::from(shapes.front().setting()), shapes.front());
  const std::map<std::string, std::string> wrong[] = {{{"blocks", "0"}},
                                                      {{"threads", "33"}},
                                                      {{"stages", "3"}},
                                                      {{"stage_bytes", "24"}},
                                                      {{"stage_bytes", "65536"}}};
  for (const auto& parameters : wrong) EXPECT_THROW(fixed(parameters), Error) << parameters.begin()->first;
}

TEST(AtomicWorks, SpreadTheirOperationsOverTheirAddresses) {
  const AtomicWork work = AtomicWork::of(flow_of(8 * 1000, {{"width", "8"}, {"addresses", "7"}}));
  EXPECT_EQ(work.count, 1000);
  EXPECT_EQ(work.span(), 56);
  std::uint64_t laps = 0;
  for (std::uint64_t word = 0; word < 7; ++word) laps += work.laps(word);
  EXPECT_EQ(laps, 1000);
  EXPECT_EQ(AtomicWork::of(flow_of(4096, {})).addresses, 1024);
  EXPECT_EQ(AtomicWork::of(flow_of(4096, {{"addresses", "99999"}})).addresses, 1024);
}

TEST(AtomicWorks, RejectWhatCannotBe) {
  for (const auto& [name, value] : {std::pair{"operation", "max"}, {"width", "2"}, {"addresses", "0"}})
    EXPECT_THROW(AtomicWork::of(flow_of(4096, {{name, value}})), Error) << name;
}

}  // namespace
}  // namespace linkscope::gpu
