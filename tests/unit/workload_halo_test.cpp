// Halo exchanges and patterns by ranks of one process: what arrives, and how what is wrong is named.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <utility>

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
class DamagingPacker final : public HostPacker {
 public:
  explicit DamagingPacker(int number) : HostPacker(host_end), number_(number) {}
  void copy(const std::vector<PackedRows>& rows) override {
    HostPacker::copy(rows);
    if (number_-- == 0) rows.back().to[(rows.back().words - 1) * 8] ^= std::byte{1};
  }

 private:
  int number_;
};

/// Counts what was enqueued and not yet waited for.
class CountingPacker final : public HostPacker {
 public:
  CountingPacker() : HostPacker(host_end) {}
  void copy(const std::vector<PackedRows>& /*rows*/) override { ++under_way; }
  void synchronise() override { under_way = 0; }
  int under_way = 0;
};

/// Ranks whose messages a device keeps in order; nothing is sent.
class DeviceOrder final : public Transport {
 public:
  explicit DeviceOrder(std::byte* room) : room_(room) {}
  [[nodiscard]] MessageOrder order() const override { return MessageOrder::device; }
  [[nodiscard]] std::byte* outgoing(int, Bytes) override { return room_; }
  void receive(int, Bytes, Bytes) override {}
  void send(int, Bytes, Bytes) override {}
  void wait() override {}
  void send_from(int, const std::byte*, Bytes) override {}
  [[nodiscard]] bool sent() override { return true; }
  [[nodiscard]] std::optional<ArrivedMessage> arrived() override { return std::nullopt; }
  void collective(const SmallCollective&, void*) override {}
  void begin_reduce(std::int64_t*, int) override {}
  [[nodiscard]] bool reduced() override { return true; }

 private:
  std::byte* room_;
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

TEST(ScheduleTail, TheSpanIsThatOfTheMeasuredRepeats) {
  Ranks ranks(halo(2, 1));
  ranks.run(3);
  const Span measured = ranks.transfer(0).counted({});
  ranks.go_on(1);
  const Span with_tail = ranks.transfer(0).counted({});
  EXPECT_GT(measured.length(), 0);
  EXPECT_EQ(with_tail.start, measured.start);
  EXPECT_EQ(with_tail.end, measured.end);
}

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
  // Each of two ranks packs and unpacks in each phase: two phases are checked first, each twice, eight copies.
  Ranks ranks(halo(2, 1, 1), [](int rank) -> std::unique_ptr<Packer> {
    if (rank == 1) return std::make_unique<DamagingPacker>(11);
    return plain_packer(rank);
  });
  ranks.run();
  EXPECT_NE(ranks.wrong(), "");
}

/// One exchange between two ranks.
Schedule one_exchange() {
  Schedule schedule = halo(2, 1, 1);
  schedule.loops[0].phases.resize(1);
  return schedule;
}

/// Packs once: what it sends later is what the receiver has had before. Packing and unpacking take turns.
class StalePacker final : public HostPacker {
 public:
  StalePacker() : HostPacker(host_end) {}
  void copy(const std::vector<PackedRows>& rows) override {
    const bool packs = copies_++ % 2 == 0;
    if (!packs || copies_ == 1) HostPacker::copy(rows);
  }

 private:
  int copies_ = 0;
};

TEST(HaloFaultTest, AMessageOfTheRepeatBeforeIsFoundAlthoughItHasTheBytesOfItsOwn) {
  Ranks ranks(one_exchange(), [](int rank) -> std::unique_ptr<Packer> {
    if (rank == 0) return std::make_unique<StalePacker>();
    return plain_packer(rank);
  });
  ranks.run(2);
  EXPECT_NE(ranks.wrong().find("the halo of rank 1"), std::string::npos) << ranks.wrong();
}

/// Unpacks its first message only when the second has come as well, or does not come for a while.
class LatePacker final : public HostPacker {
 public:
  explicit LatePacker(const PairWords*& words) : HostPacker(host_end), words_(words) {}
  void copy(const std::vector<PackedRows>& rows) override {
    if (copies_++ == 1) {
      for (int wait = 0; wait < 200 && words_->sent.load() < 2; ++wait)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    HostPacker::copy(rows);
  }

 private:
  const PairWords*& words_;
  int copies_ = 0;
};

/// What ranks say whose second message from rank 0 to rank 1 may come when `freed` are said to be unpacked at first.
std::string wrong_when_freed(std::uint64_t freed) {
  const PairWords* words = nullptr;
  Ranks ranks(one_exchange(), [&](int rank) -> std::unique_ptr<Packer> {
    if (rank == 1) return std::make_unique<LatePacker>(words);
    return plain_packer(rank);
  });
  words = &ranks.board().pair(0, 1);
  ranks.board().pair(0, 1).freed.store(freed);
  ranks.run(1);
  return ranks.wrong();
}

TEST(HaloFaultTest, AMessageThatOvertakesTheOneBeforeIsFound) {
  EXPECT_EQ(wrong_when_freed(0), "");
  EXPECT_NE(wrong_when_freed(1).find("the halo of rank 1"), std::string::npos);
}

/// Its reductions give what the rank itself has.
class LonelyReductions final : public DirectTransport {
 public:
  using DirectTransport::DirectTransport;
  void collective(const SmallCollective& what, void* numbers) override {
    std::vector<std::byte> dropped(static_cast<std::size_t>(what.count) * bytes_of(what.type));
    if (what.count > 0) std::memcpy(dropped.data(), numbers, dropped.size());
    DirectTransport::collective(what, dropped.data());
  }
};

TEST(ScheduleTransferTest, AReductionThatIsNotOverAllRanksIsFound) {
  for (const ReduceOp by : {ReduceOp::sum, ReduceOp::min, ReduceOp::max}) {
    for (const NumberType type : {NumberType::int32, NumberType::int64, NumberType::float64}) {
      Schedule schedule;
      schedule.ranks = 3;
      schedule.loops = {{2, {Phase{.name = "a", .collectives = {{type, by, 100}, {.count = 0}}}}}};
      Ranks right(schedule);
      right.run();
      EXPECT_EQ(right.wrong(), "");
      RanksBy<LonelyReductions> ranks(schedule);
      ranks.run();
      EXPECT_NE(ranks.wrong().find("after a: number "), std::string::npos) << ranks.wrong();
    }
  }
}

/// Takes a while to pack.
class SlowPacker final : public HostPacker {
 public:
  SlowPacker() : HostPacker(host_end) {}
  void copy(const std::vector<PackedRows>& rows) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    HostPacker::copy(rows);
  }
};

TEST(ScheduleTransferTest, TheTimeOfEachRankHoldsItsWaitsAtBarriers) {
  Schedule schedule = one_exchange();
  schedule.loops[0].phases.push_back(Phase{.name = "barrier", .collectives = {{.count = 0}}});
  Ranks ranks(schedule, [](int rank) -> std::unique_ptr<Packer> {
    if (rank == 0) return std::make_unique<SlowPacker>();
    return plain_packer(rank);
  });
  ranks.run(3);
  for (const int rank : {0, 1}) EXPECT_GE(ranks.transfer(rank).counted({0, 0, 0}).length(), 3 * 0.01) << rank;
}

TEST(MessageWorkTest, ADeviceIsWaitedForInTheLastPhaseThatHasMessagesOfTheRank) {
  Schedule schedule = halo(2, 1);
  Phase empty = schedule.loops[0].phases[0];  // bottom and top, where no rank has a neighbour
  empty.halo->axis = GridAxis::y;
  empty.messages.clear();
  schedule.loops[0].phases.insert(schedule.loops[0].phases.begin() + 1, empty);
  schedule.check();
  HeapBuffer state(HaloLayout::bytes(*schedule.grid, 0));
  HeapBuffer messages(MessageSlots(schedule, 0).bytes);
  auto packer = std::make_unique<CountingPacker>();
  const CountingPacker& counted = *packer;
  const auto work = message_work({std::make_shared<const Schedule>(schedule), 0, &state, &messages,
                                  std::move(packer), std::make_unique<DeviceOrder>(messages.data())});
  PartClock clock;
  for (const std::size_t phase : {0, 1}) work->carry_out(phase, clock);
  EXPECT_EQ(counted.under_way, 0);
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

/// Notes to which rank each message goes, by the rank that sends it.
class NotedSends final : public DirectTransport {
 public:
  NotedSends(RankBoard board, const Schedule& schedule, MessageOrder order, Packer& packer,
             std::map<int, DirectPeer> peers)
      : DirectTransport(std::move(board), schedule, order, packer, std::move(peers)) {}
  void send(int peer, Bytes offset, Bytes bytes) override {
    peers_.push_back(peer);
    DirectTransport::send(peer, offset, bytes);
  }
  ~NotedSends() override {
    const std::lock_guard lock(mutex);
    all.push_back(peers_);
  }
  NotedSends(const NotedSends&) = delete;
  NotedSends& operator=(const NotedSends&) = delete;

  static inline std::mutex mutex;
  static inline std::vector<std::vector<int>> all;

 private:
  std::vector<int> peers_;
};

TEST(ScheduleTransferTest, RanksThatSendToAllBeginWithDifferentOnes) {
  Schedule schedule;
  schedule.ranks = 4;
  Phase phase{.name = "all to all"};
  for (int source = 0; source < 4; ++source) {
    for (int destination = 0; destination < 4; ++destination) {
      if (source != destination) phase.messages.push_back({source, destination, 100U + 8U * destination});
    }
  }
  schedule.loops = {{1, {phase}}};
  {
    RanksBy<NotedSends> ranks(schedule);
    ranks.run();
    EXPECT_EQ(ranks.wrong(), "");
  }
  ASSERT_EQ(NotedSends::all.size(), 4U);
  for (std::size_t step = 0; step < 3; ++step) {
    std::set<int> reached;
    for (const std::vector<int>& peers : NotedSends::all) reached.insert(peers.at(step));
    EXPECT_EQ(reached.size(), 4U) << "step " << step;
  }
}

TEST(MessageSlotsTest, MessagesOfOnePhaseToOnePeerLieBehindOneAnotherAndPhasesShareTheSlot) {
  Schedule schedule;
  schedule.ranks = 2;
  schedule.loops = {{1,
                     {Phase{.name = "a", .messages = {{0, 1, 10}, {0, 1, 20}}},
                      Phase{.name = "b", .messages = {{0, 1, 40}, {1, 0, 8}}}}}};
  const MessageSlots slots(schedule, 0);
  EXPECT_EQ(slots.to.at(1).bytes, 48U);
  EXPECT_EQ(slots.from.at(1).bytes, 16U);
  EXPECT_EQ(slots.from.at(1).offset, 256U);
  const RankMessages first = messages_of(schedule.loops[0].phases[0], 0);
  ASSERT_EQ(first.sends.size(), 2U);
  EXPECT_EQ(first.sends[1].offset, 16U);
}

}  // namespace
}  // namespace linkscope::workload
