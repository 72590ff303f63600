// The push protocol, tried out by threads on plain memory: only its flags order what they load and store.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "chunk_threads.hpp"
#include "collective/protocol/push_protocol.hpp"

namespace linkscope::direct {
namespace {

using Kind = CollectiveKind;

PushCut cut_of(const ChunkCase& one, int me) { return push_cut(shape_of(one), me, one.workers, one.chunk); }

struct PushMemory : ChunkMemory {
  using Row = std::array<std::atomic<std::uint64_t>, most_members>;

  explicit PushMemory(const ChunkCase& one)
      : ChunkMemory(one, cut_of(one, 0).staging_bytes()),
        credits(2 * one.workers),
        arrivals(2 * one.workers) {}
  std::vector<Row> credits, arrivals;
};

/// A thread as a worker: its scatterer writes numbers that only this call has, and checks what comes of them.
class PushThread : public ChunkThread<PushMemory> {
 public:
  PushThread(const ChunkNode<PushMemory>& node, int me, unsigned block)
      : ChunkThread(node, me, block), cut_(cut_of(node.wanted(), me)) {}

  [[nodiscard]] const PushCut& cut() const { return cut_; }
  [[nodiscard]] unsigned pair() const { return worker_ / 2; }
  [[nodiscard]] PushRole role() const { return worker_ % 2 == 0 ? PushRole::scatterer : PushRole::summer; }
  void begin(std::uint64_t turn) {
    inject_jitter(8);
    if (role() == PushRole::summer) return;
    each_index(all_of(cut_.members),
               [&](std::size_t i) { own().source[i] = input_element(call(turn), cut_.me, i); });
  }

  bool await_room(std::uint64_t call, std::uint32_t round) {
    for (int owner = 0; owner < cut_.members; ++owner) {
      if (owner == cut_.me || round >= cut_.rounds(owner, pair())) continue;
      const std::uint64_t number = cut_.number(owner, pair(), call, round);
      if (number > push_depth && !await(own().credits[worker_], owner, number - push_depth)) return false;
    }
    return true;
  }
  void push(int owner, Bytes place, const PushCut::Piece& piece) {
    Numbers& to = node_.place(owner).staging;
    for (Bytes i = 0; i < piece.bytes / 4; ++i) to[place / 4 + i] = own().source[piece.at / 4 + i];
    inject_jitter(16);
  }
  void tell_chunks(std::uint64_t call, std::uint32_t round) {
    for (int owner = 0; owner < cut_.members; ++owner) {
      if (round < cut_.rounds(owner, pair()))
        tell(node_.place(owner).credits[worker_ + 1], cut_.number(owner, pair(), call, round));
    }
  }
  bool await_results(std::uint64_t call) {
    for (int owner = 0; owner < cut_.members; ++owner) {
      if (holds(cut_.awaited(), owner) && !await(own().arrivals[worker_], owner, call)) return false;
    }
    return true;
  }
  void end(std::uint64_t call) {
    inject_jitter(4);
    each_index(cut_.results, [&](std::size_t i) {
      check(node_.result(cut_.me)[i - first()], summed_element(call, cut_.members, i));
    });
  }

  bool await_chunks(std::uint64_t call, std::uint32_t round) {
    for (int from = 0; from < cut_.members; ++from) {
      if (!await(own().credits[worker_], from, cut_.number(cut_.me, pair(), call, round))) return false;
    }
    return true;
  }
  void sum(std::uint64_t number, const PushCut::Piece& piece) {
    for (Bytes i = 0; i < piece.bytes / 4; ++i) {
      unsigned sum = 0;
      for (int from = 0; from < cut_.members; ++from)
        sum += static_cast<unsigned>(from == cut_.me
                                         ? own().source[piece.at / 4 + i]
                                         : own().staging[cut_.place(cut_.me, from, pair(), number) / 4 + i]);
      for (int to = 0; to < cut_.members; ++to) {
        if (holds(cut_.readers, to)) node_.result(to)[piece.at / 4 + i - first()] = static_cast<int>(sum);
      }
    }
  }
  void give_room(std::uint64_t call, std::uint32_t round) {
    for (int to = 0; to < cut_.members; ++to) {
      if (to != cut_.me)
        tell(node_.place(to).credits[worker_ - 1], cut_.number(cut_.me, pair(), call, round));
    }
    inject_jitter(16);
  }
  void tell_results(std::uint64_t call) {
    for (int to = 0; to < cut_.members; ++to) {
      if (holds(cut_.told(), to)) tell(node_.place(to).arrivals[worker_ - 1], call);
    }
  }

 private:
  /// Where in the whole a destination begins.
  [[nodiscard]] std::size_t first() const {
    return node_.wanted().kind == Kind::reduce_scatter ? cut_.share * static_cast<Bytes>(cut_.me) / 4 : 0;
  }
  template <class What>
  void each_index(MemberSet owners, const What& what) const {
    for (int owner = 0; owner < cut_.members; ++owner) {
      for (std::uint32_t round = 0; holds(owners, owner) && round < cut_.rounds(owner, pair()); ++round) {
        const PushCut::Piece piece = cut_.piece(owner, pair(), round);
        for (Bytes i = piece.at / 4; i < (piece.at + piece.bytes) / 4; ++i) what(i);
      }
    }
  }
  void tell(PushMemory::Row& row, std::uint64_t number) const {
    publish(row[static_cast<std::size_t>(cut_.me)], number);
  }
  bool await(PushMemory::Row& row, int member, std::uint64_t number) {
    // A scatterer's owner may be late because another is: that one is for a summer to name.
    return await_count(row[static_cast<std::size_t>(member)], role() == PushRole::summer ? member : nobody,
                       number);
  }

  PushCut cut_;
};

Outcome run(const ChunkNode<PushMemory>& node, std::uint64_t calls, MemberSet absent) {
  return run_members(
      node.wanted().members, 2 * node.wanted().workers, calls, absent,
      [&node](int member, unsigned block) { return std::make_unique<PushThread>(node, member, block); },
      [](PushThread& port, std::uint64_t repeats) {
        repeat_pushes(port, port.cut(), repeats);
        port.end_launch(repeats);
      });
}

class Push : public ::testing::TestWithParam<ChunkCase> {};

TEST_P(Push, SumsEveryCallsOwnNumbersHoweverLateMembersAre) {
  expect_every_calls_own_numbers<PushMemory>(GetParam(), run);
}

TEST_P(Push, GivesUpOnAMemberThatNeverComes) { expect_last_member_named<PushMemory>(GetParam(), run); }

TEST_P(Push, CutsSoThatEveryByteIsSummedUpOnce) {
  const PushCut cut = cut_of(GetParam(), 0);
  std::multiset<Bytes> summed;
  for (int owner = 0; owner < cut.members; ++owner) {
    for (unsigned pair = 0; pair < cut.pairs; ++pair) {
      EXPECT_LE(cut.rounds(owner, pair), cut.rounds(0, pair));
      for (std::uint32_t round = 0; round < cut.rounds(owner, pair); ++round) {
        const PushCut::Piece piece = cut.piece(owner, pair, round);
        EXPECT_GT(piece.bytes, 0U);
        EXPECT_LE(piece.bytes, cut.chunk);
        EXPECT_EQ(piece.at % vector_bytes, 0U);
        for (Bytes at = piece.at; at < piece.at + piece.bytes; at += 4) summed.insert(at);
      }
      EXPECT_EQ(cut.piece(owner, pair, cut.rounds(owner, pair)).bytes, 0U);
    }
  }
  ASSERT_EQ(summed.size(), GetParam().bytes / 4);
  EXPECT_EQ(std::set<Bytes>(summed.begin(), summed.end()).size(), summed.size());
}

TEST_P(Push, KeepsEverySendersChunksApart) {
  const PushCut cut = cut_of(GetParam(), 0);
  for (int owner = 0; owner < cut.members; ++owner) {
    std::set<Bytes> begins;
    for (int from = 0; from < cut.members; ++from) {
      for (unsigned pair = 0; pair < cut.pairs && from != owner; ++pair) {
        for (std::uint64_t number = 8; number < 8 + push_depth; ++number) {
          const Bytes place = cut.place(owner, from, pair, number);
          EXPECT_LE(place + cut.chunk, cut.staging_bytes());
          EXPECT_EQ(place % cut.chunk, 0U);
          EXPECT_TRUE(begins.insert(place).second);
          EXPECT_EQ(cut.place(owner, from, pair, number + push_depth), place);
        }
      }
    }
    EXPECT_EQ(begins.size() * cut.chunk, cut.staging_bytes());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Collectives, Push,
    ::testing::Values(ChunkCase{Kind::all_reduce, 2, 4, 1, 16},       // the second share is empty
                      ChunkCase{Kind::all_reduce, 3, 4 * 33, 2, 16},  // ends within a vector
                      ChunkCase{Kind::all_reduce, 4, 1024, 1, 16},    // many more chunks than places
                      ChunkCase{Kind::all_reduce, 3, 4 * 301, 2, 64, InPlace::in},
                      ChunkCase{Kind::all_reduce, 5, 80, 3, 32},  // pairs without a chunk
                      ChunkCase{Kind::all_reduce, 4, 16 * 13, 2, 16, InPlace::in},
                      ChunkCase{Kind::reduce, 3, 4 * 121, 2, 16},
                      ChunkCase{Kind::reduce_scatter, 4, 4 * 16 * 9, 2, 32}));

}  // namespace
}  // namespace linkscope::direct
