// What kernel methods work out before any GPU is asked: launch shapes, access patterns, atomic work.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "backend/gpu/gpu_method.hpp"
#include "backend/gpu/kernel/access_pattern.hpp"
#include "backend/gpu/kernel/grid.hpp"
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

constexpr int processors = 132;

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

TEST(SweepGrids, OfferShortBlocksOnlyWhereTheyFillTheDevice) {
  const auto has_tiles = [](Bytes threads) {
    const auto grids = sweep_grids(processors, threads, {});
    return std::any_of(grids.begin(), grids.end(),
                       [](const Grid& grid) { return grid.blocks == one_tile_each; });
  };
  EXPECT_FALSE(has_tiles(4096));
  EXPECT_TRUE(has_tiles(32 * MiB));
}

TEST(SweepGrids, OfTilesHaveABlockForEveryTile) {
  const Grid grid{.blocks = one_tile_each, .threads = 512, .depth = 4};
  EXPECT_EQ(with_a_block_per_tile(grid, 2048).blocks, 1);
  EXPECT_EQ(with_a_block_per_tile(grid, 2049).blocks, 2);
  EXPECT_EQ(with_a_block_per_tile(grid, 1).blocks, 1);
}

TEST(SweepGrids, ComeBackFromTheirSettings) {
  GridChoice choice(sweep_numbers, sweep_grids(processors, 64 * MiB, {}));
  TransferFacts facts;
  choice.offer(facts);
  ASSERT_EQ(facts.candidates.size(), choice.all().size());
  EXPECT_EQ(facts.setting, (Setting{{"blocks", 132}, {"threads", 512}, {"unroll", 12}, {"streaming", 0}}));
  for (std::size_t i = 0; i < facts.candidates.size(); ++i) {
    choice.use(facts.candidates[i]);
    EXPECT_EQ(choice.used(), choice.all()[i]);
  }
  EXPECT_THROW(choice.use({{"stages", 4}}), Error);
  EXPECT_THROW(choice.use({{"threads", 100}}), Error);
}

TEST(SweepGrids, GiveNoThreadNothingToDo) {
  for (const Grid& grid : sweep_grids(processors, 1000, {}))
    EXPECT_LT(static_cast<std::uint64_t>(grid.blocks - 1) * grid.threads, 1000) << grid.threads;
}

TEST(SweepGrids, AreFixedByParametersOrRejected) {
  const auto fixed = [](const std::map<std::string, std::string>& parameters) {
    return sweep_grids(processors, MiB, flow_of(MiB, parameters).parameters);
  };
  EXPECT_EQ(fixed({{"blocks", "0"}, {"unroll", "8"}, {"threads", "1024"}, {"streaming", "1"}}),
            (std::vector<Grid>{{.blocks = 0, .threads = 1024, .depth = 8, .streaming = 1}}));
  const std::map<std::string, std::string> wrong[] = {{{"blocks", "1048577"}},
                                                      {{"threads", "100"}},
                                                      {{"threads", "1024"}},
                                                      {{"unroll", "3"}},
                                                      {{"streaming", "2"}}};
  for (const auto& parameters : wrong) EXPECT_THROW(fixed(parameters), Error) << parameters.begin()->first;
}

constexpr Bytes hopper = 227 * KiB;

TEST(BulkGrids, FitTheSharedMemoryOfABlock) {
  for (const Bytes shared : {hopper, 64 * KiB}) {
    const auto grids = bulk_grids(processors, shared, GiB, GiB, {});
    EXPECT_FALSE(grids.empty());
    for (const Grid& grid : grids) EXPECT_LE(bulk_shared_bytes(grid), shared);
  }
}

TEST(BulkGrids, OfferFewAndManyBlocks) {
  std::set<unsigned> blocks;
  for (const Grid& grid : bulk_grids(processors, hopper, GiB, GiB, {})) blocks.insert(grid.blocks);
  for (const unsigned wanted : {16U, 33U, 66U, 132U, 264U}) EXPECT_TRUE(blocks.contains(wanted)) << wanted;
}

TEST(BulkGrids, GiveEveryWarpAPieceOfSmallCopies) {
  for (const Bytes bytes : {Bytes{1}, Bytes{16}, 4 * KiB, 64 * KiB, MiB}) {
    for (const Grid& grid : bulk_grids(processors, hopper, bytes, bytes, {})) {
      const Bytes pieces = std::max<Bytes>((bytes + grid.piece - 1) / grid.piece, 1);
      EXPECT_LE(static_cast<Bytes>(grid.blocks - 1) * (grid.threads / warp), pieces) << bytes;
      EXPECT_EQ(grid.piece % 16, 0);
    }
  }
}

TEST(BulkGrids, AreFixedByParametersOrRejected) {
  const auto fixed = [](const std::map<std::string, std::string>& parameters) {
    return bulk_grids(processors, hopper, GiB, GiB, flow_of(GiB, parameters).parameters);
  };
  EXPECT_EQ(fixed({{"blocks", "7"}, {"threads", "64"}, {"stages", "2"}, {"stage_bytes", "4096"}}),
            (std::vector<Grid>{{.blocks = 7, .threads = 64, .depth = 2, .piece = 4096}}));
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
