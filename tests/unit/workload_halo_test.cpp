// Halo exchanges and patterns by ranks of one process: what arrives, and how what is wrong is named.
#include <gtest/gtest.h>

#include <numeric>

#include "workload_ranks.hpp"

namespace linkscope::workload {
namespace {

std::vector<GridField> fields() {
  return {{"cells", 0, 0}, {"corners", 1, 1}, {"sides_x", 1, 0}, {"sides_y", 0, 1}};
}

/// `across` x `up` chunks of uneven size; in each step all fields at both depths, left and right first.
Schedule halo(int across, int up, std::uint64_t steps = 2) {
  const auto share = [](std::uint64_t cells, int parts, int index) {
    const auto count = static_cast<std::uint64_t>(parts);
    const auto at = static_cast<std::uint64_t>(index);
    return cells / count + (at < cells % count ? 1 : 0);
  };
  Schedule schedule;
  schedule.ranks = across * up;
  CellGrid grid{23, 17, fields(), {}};
  for (int row = 0, y = 0; row < up; ++row) {
    const std::uint64_t rows = share(grid.rows, up, row);
    for (int column = 0, x = 0; column < across; ++column) {
      const std::uint64_t columns = share(grid.columns, across, column);
      grid.chunks.push_back({static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(y), columns, rows});
      x += static_cast<int>(columns);
    }
    y += static_cast<int>(rows);
  }
  Loop loop{steps, {}};
  for (const int depth : {1, 2}) {
    for (const GridAxis axis : {GridAxis::x, GridAxis::y}) {
      Phase phase{.name = axis == GridAxis::x ? "left and right" : "bottom and top",
                  .halo = HaloExchange{{0, 1, 2, 3}, depth, axis}};
      for (int rank = 0; rank < schedule.ranks; ++rank) {
        const bool along_x = axis == GridAxis::x;
        const bool last = along_x ? rank % across == across - 1 : rank / across == up - 1;
        if (last) continue;
        const int next = along_x ? rank + 1 : rank + across;
        const Bytes bytes = halo_bytes(*phase.halo, grid.chunks[static_cast<std::size_t>(rank)]);
        phase.messages.push_back({rank, next, bytes});
        phase.messages.push_back({next, rank, bytes});
      }
      if (!phase.messages.empty()) loop.phases.push_back(phase);
    }
  }
  loop.phases.push_back({.name = "time step", .collectives = {{NumberType::float64, ReduceOp::min, 1}}});
  schedule.grid = grid;
  schedule.loops = {loop};
  return schedule;
}

/// Damages one word of its `number`-th copy.
class DamagingPacker final : public Packer {
 public:
  explicit DamagingPacker(int number) : number_(number) {}
  void copy(const std::vector<PackedRows>& rows) override {
    own_.copy(rows);
    if (number_-- == 0) rows.back().to[(rows.back().words - 1) * 8] ^= std::byte{1};
  }
  void synchronise() override {}
  void fill(const GridBox& box, std::uint64_t seed) override { own_.fill(box, seed); }
  void poison(const GridBox& box) override { own_.poison(box); }
  [[nodiscard]] std::optional<WrongWord> compare(const GridBox& box, std::uint64_t seed) override {
    return own_.compare(box, seed);
  }
  [[nodiscard]] std::uint64_t read_word(const std::byte* at) override { return own_.read_word(at); }
  [[nodiscard]] std::byte* allocate(Bytes bytes) override { return own_.allocate(bytes); }
  void release(std::byte* at) override { own_.release(at); }
  void make_particles(Particle*, std::uint64_t, std::uint64_t, std::uint64_t) override {}
  void fill_queue(std::uint64_t, const std::vector<Departure>&) override {}
  [[nodiscard]] std::uint64_t queued(int) override { return 0; }
  void pack_particles(const Particle*, int, std::byte*) override {}
  [[nodiscard]] std::uint64_t unpack_particles(Particle*, std::uint64_t, const std::byte*,
                                               std::uint64_t) override {
    return 0;
  }
  [[nodiscard]] std::optional<std::uint64_t> count_particles(const Particle*, std::uint64_t, std::uint64_t,
                                                             std::uint64_t,
                                                             std::vector<std::int32_t>&) override {
    return std::nullopt;
  }

 private:
  HostPacker own_{host_end};
  int number_;
};

class HaloTest : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(HaloTest, EveryHaloCellHasItsNeighboursValueCornersIncluded) {
  Ranks ranks(halo(GetParam().first, GetParam().second));
  ranks.run(3);
  for (int rank = 0; rank < GetParam().first * GetParam().second; ++rank) EXPECT_EQ(ranks.failure(rank), "");
  EXPECT_EQ(ranks.wrong(), "");
}

INSTANTIATE_TEST_SUITE_P(Grids, HaloTest,
                         testing::Values(std::pair{2, 1}, std::pair{1, 2}, std::pair{2, 2}, std::pair{3, 2},
                                         std::pair{1, 4}));

TEST(HaloFaultTest, AWordThatIsPackedWronglyIsNamedByPhaseFieldAndCell) {
  Ranks ranks(halo(2, 1), [](int rank) -> std::unique_ptr<Packer> {
    if (rank == 0) return std::make_unique<DamagingPacker>(0);
    return plain_packer(rank);
  });
  ranks.run();
  const std::string wrong = ranks.wrong();
  // The last field, on sides: of rank 1 the first halo column on the left, in the last of its rows.
  EXPECT_NE(wrong.find("left and right"), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("sides_y at column 11, row -1"), std::string::npos) << wrong;
}

TEST(HaloFaultTest, ADamagedWordOfATimedStartIsFoundAtTheEnd) {
  // Each of two ranks packs and unpacks in each phase: two phases are checked first, four copies.
  Ranks ranks(halo(2, 1, 1), [](int rank) -> std::unique_ptr<Packer> {
    if (rank == 1) return std::make_unique<DamagingPacker>(7);
    return plain_packer(rank);
  });
  ranks.run();
  EXPECT_NE(ranks.wrong(), "");
}

TEST(HaloLayoutTest, WhatTwoChunksHaveBothIsNotSent) {
  const Schedule schedule = halo(2, 1);
  std::vector<std::byte> memory(HaloLayout::bytes(*schedule.grid, 1));
  std::vector<std::byte> packed(1 << 16U);
  const HaloLayout right(*schedule.grid, 1, memory.data());
  const HaloExchange cells{{0}, 1, GridAxis::x};
  const HaloExchange corners{{1}, 1, GridAxis::x};
  const auto of_cells = right.packed(cells, 0, packed.data()).front();
  const auto of_corners = right.packed(corners, 0, packed.data()).front();
  const GridBox cell_box = right.whole(0);
  const GridBox corner_box = right.whole(1);
  EXPECT_EQ(of_cells.from - cell_box.base, static_cast<std::ptrdiff_t>(cell_box.pitch + 2 * 8));
  EXPECT_EQ(of_corners.from - corner_box.base, static_cast<std::ptrdiff_t>(corner_box.pitch + 3 * 8));
  EXPECT_EQ(of_corners.rows, of_cells.rows + 1);
}

TEST(ScheduleTransferTest, PartsAndPhasesAddUpToTheTimeThatCounts) {
  Ranks ranks(halo(2, 2));
  ranks.run(5);
  const auto told = ranks.transfer(0).breakdown();
  ASSERT_TRUE(told);
  Seconds parts = 0;
  for (const auto& [name, seconds] : told->parts) parts += seconds;
  const Seconds phases = std::accumulate(told->phases.begin(), told->phases.end(), Seconds{0});
  const Seconds counted = ranks.transfer(0).counted({0, 1, 1}).length() / 5;
  EXPECT_NEAR(parts, counted, 1e-9);
  EXPECT_LE(phases, parts + 1e-9);
  EXPECT_EQ(told->phases.size(), 5U);
}

TEST(PatternTest, EveryByteArrivesWhateverTheSizesAndHoweverManyBetweenTwoRanks) {
  Schedule schedule;
  schedule.ranks = 3;
  schedule.loops = {{2, {Phase{.name = "a", .messages = {{0, 1, 1001}, {1, 2, 3}, {0, 1, 64}}}}},
                    {1, {Phase{.name = "b", .messages = {{2, 0, 4096}, {0, 2, 1}}}}}};
  Ranks ranks(schedule);
  ranks.run(2);
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(ranks.failure(rank), "");
  EXPECT_EQ(ranks.wrong(), "");
}

TEST(PatternTest, APhaseThatItsLoopNeverReachesIsNotMissedAtTheEnd) {
  Schedule schedule;
  schedule.ranks = 2;
  schedule.loops = {{3,
                     {Phase{.name = "each", .messages = {{0, 1, 64}}},
                      Phase{.name = "none", .every = 4, .messages = {{0, 1, 4096}, {1, 0, 8}}}}}};
  Ranks ranks(schedule);
  ranks.run(2);
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(ranks.failure(rank), "");
  EXPECT_EQ(ranks.wrong(), "");
}

TEST(PatternTest, AByteThatIsNotWhatWasSentIsFound) {
  Schedule schedule;
  schedule.ranks = 2;
  schedule.loops = {{1, {Phase{.name = "a", .messages = {{0, 1, 61}}}}}};
  Ranks ranks(schedule, [](int rank) -> std::unique_ptr<Packer> {
    if (rank == 0) return std::make_unique<DamagingPacker>(0);
    return plain_packer(rank);
  });
  ranks.run();
  EXPECT_NE(ranks.wrong().find("the word at byte 56"), std::string::npos) << ranks.wrong();
}

TEST(MessageSlotsTest, MessagesOfOnePhaseToOnePeerLieBehindOneAnotherAndPhasesShareTheSlot) {
  Schedule schedule;
  schedule.ranks = 2;
  schedule.loops = {{1,
                     {Phase{.name = "a", .messages = {{0, 1, 10}, {0, 1, 20}}},
                      Phase{.name = "b", .messages = {{0, 1, 40}, {1, 0, 8}}}}}};
  const MessageSlots slots(schedule, 0);
  EXPECT_EQ(slots.to().at(1).bytes, 48U);
  EXPECT_EQ(slots.from().at(1).bytes, 16U);
  EXPECT_EQ(slots.from().at(1).offset, 256U);
  const RankMessages first = messages_of(schedule.loops[0].phases[0], 0);
  ASSERT_EQ(first.sends.size(), 2U);
  EXPECT_EQ(first.sends[1].offset, 16U);
}

}  // namespace
}  // namespace linkscope::workload
