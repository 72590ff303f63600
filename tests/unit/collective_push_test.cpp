// The push protocol, tried out by threads on plain memory: only its flags order what they load and store.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <ostream>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "collective/protocol/push_protocol.hpp"
#include "member_threads.hpp"
#include "model/elements.hpp"

namespace linkscope::direct {
namespace {

using Kind = CollectiveKind;
using Numbers = std::vector<int>;

struct Arrangement {
  Kind kind = Kind::all_reduce;
  int members = 3;
  Bytes bytes = 48;
  unsigned pairs = 2;
  Bytes chunk = 16;
  InPlace place = InPlace::out;
  std::uint64_t patience = 10'000'000;  ///< looks
};

std::ostream& operator<<(std::ostream& out, const Arrangement& one) {
  return out << name_of(one.kind) << " of " << one.bytes << " B, " << one.members << " members, " << one.pairs
             << " pairs, chunks of " << one.chunk << " B" << (one.place == InPlace::in ? ", in place" : "");
}

CollectiveShape shape_of(const Arrangement& one) {
  return {one.kind, ElementType::int32, one.place, one.members, one.bytes};
}

PushCut cut_of(const Arrangement& one, int me) { return push_cut(shape_of(one), me, one.pairs, one.chunk); }

/// One member's memory. Counters are all that is atomic.
struct Place {
  using Row = std::array<std::atomic<std::uint64_t>, most_members>;

  explicit Place(const Arrangement& one)
      : staging(cut_of(one, 0).staging_bytes() / 4, -1),
        source(one.bytes / 4),
        destination(one.bytes / 4),
        credits(2 * one.pairs),
        arrivals(2 * one.pairs) {}
  Numbers staging, source, destination;
  std::vector<Row> credits, arrivals;
  std::atomic<bool> poison{false};
  std::atomic<int> missing{-1};
};

class Node {
 public:
  explicit Node(const Arrangement& arrangement) : arrangement_(arrangement) {
    for (int member = 0; member < arrangement.members; ++member)
      places_.push_back(std::make_unique<Place>(arrangement));
  }
  [[nodiscard]] const Arrangement& arrangement() const { return arrangement_; }
  [[nodiscard]] Place& place(int member) const { return *places_[static_cast<std::size_t>(member)]; }
  [[nodiscard]] Numbers& result(int member) const {
    return arrangement_.place == InPlace::in ? place(member).source : place(member).destination;
  }

 private:
  Arrangement arrangement_;
  std::vector<std::unique_ptr<Place>> places_;
};

/// A thread as a worker: its scatterer writes numbers that only this call has, and checks what comes of them.
class ThreadPort {
 public:
  ThreadPort(const Node& node, int me, unsigned block)
      : node_(node),
        cut_(cut_of(node.arrangement(), me)),
        block_(block),
        random_(static_cast<unsigned>(me) * 64 + block + 1) {}

  [[nodiscard]] const PushCut& cut() const { return cut_; }
  [[nodiscard]] std::uint64_t wrong() const { return wrong_; }
  [[nodiscard]] std::uint64_t checked() const { return checked_; }
  /// The launch is over.
  void end_launch(std::uint64_t calls) { made_ += calls; }

  [[nodiscard]] unsigned pair() const { return block_ / 2; }
  [[nodiscard]] PushRole role() const { return block_ % 2 == 0 ? PushRole::scatterer : PushRole::summer; }
  [[nodiscard]] std::uint64_t call(std::uint64_t turn) const { return made_ + turn; }
  void begin(std::uint64_t turn) {
    dawdle(8);
    if (role() == PushRole::summer) return;
    each_index(all_of(cut_.members),
               [&](std::size_t i) { own().source[i] = input_element(call(turn), cut_.me, i); });
  }

  bool await_room(std::uint64_t call, std::uint32_t round) {
    for (int owner = 0; owner < cut_.members; ++owner) {
      if (owner == cut_.me || round >= cut_.rounds(owner, pair())) continue;
      const std::uint64_t number = cut_.number(owner, pair(), call, round);
      if (number > push_depth && !await(own().credits[block_], owner, number - push_depth)) return false;
    }
    return true;
  }
  void push(int owner, Bytes place, const PushCut::Piece& piece) {
    Numbers& to = node_.place(owner).staging;
    for (Bytes i = 0; i < piece.bytes / 4; ++i) to[place / 4 + i] = own().source[piece.at / 4 + i];
    dawdle(16);
  }
  void tell_chunks(std::uint64_t call, std::uint32_t round) {
    for (int owner = 0; owner < cut_.members; ++owner) {
      if (round < cut_.rounds(owner, pair()))
        tell(node_.place(owner).credits[block_ + 1], cut_.number(owner, pair(), call, round));
    }
  }
  bool await_results(std::uint64_t call) {
    for (int owner = 0; owner < cut_.members; ++owner) {
      if (holds(cut_.awaited(), owner) && !await(own().arrivals[block_], owner, call)) return false;
    }
    return true;
  }
  void end(std::uint64_t call) {
    dawdle(4);
    each_index(cut_.results, [&](std::size_t i) {
      ++checked_;
      if (node_.result(cut_.me)[i - first()] != summed_element(call, cut_.members, i)) ++wrong_;
    });
  }

  bool await_chunks(std::uint64_t call, std::uint32_t round) {
    for (int from = 0; from < cut_.members; ++from) {
      if (!await(own().credits[block_], from, cut_.number(cut_.me, pair(), call, round))) return false;
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
      if (to != cut_.me) tell(node_.place(to).credits[block_ - 1], cut_.number(cut_.me, pair(), call, round));
    }
    dawdle(16);
  }
  void tell_results(std::uint64_t call) {
    for (int to = 0; to < cut_.members; ++to) {
      if (holds(cut_.told(), to)) tell(node_.place(to).arrivals[block_ - 1], call);
    }
  }

 private:
  [[nodiscard]] Place& own() const { return node_.place(cut_.me); }
  /// Where in the whole a destination begins.
  [[nodiscard]] std::size_t first() const {
    return node_.arrangement().kind == Kind::reduce_scatter ? cut_.share * static_cast<Bytes>(cut_.me) / 4
                                                            : 0;
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
  void tell(Place::Row& row, std::uint64_t number) const {
    row[static_cast<std::size_t>(cut_.me)].store(number, std::memory_order_release);
  }
  bool await(Place::Row& row, int member, std::uint64_t number) {
    // A scatterer's owner may be late because another is: that one is for a summer to name.
    const bool names = role() == PushRole::summer;
    for (std::uint64_t looks = 0;
         row[static_cast<std::size_t>(member)].load(std::memory_order_acquire) < number; ++looks) {
      std::this_thread::yield();
      if (own().poison) return false;
      if (!names || looks < node_.arrangement().patience) continue;
      own().missing = member;
      for (int other = 0; other < cut_.members; ++other) node_.place(other).poison = true;
      return false;
    }
    return true;
  }
  void dawdle(unsigned seldom) {
    for (unsigned idle = random_() % seldom == 0 ? random_() % 32U : 0; idle > 0; --idle)
      std::this_thread::yield();
  }

  const Node& node_;
  PushCut cut_;
  unsigned block_;
  std::minstd_rand random_;
  std::uint64_t made_ = 0;
  std::uint64_t wrong_ = 0;
  std::uint64_t checked_ = 0;
};

Outcome run(const Node& node, std::uint64_t calls, MemberSet absent) {
  return run_members(
      node.arrangement().members, 2 * node.arrangement().pairs, calls, absent,
      [&node](int member, unsigned block) { return std::make_unique<ThreadPort>(node, member, block); },
      [](ThreadPort& port, std::uint64_t repeats) {
        repeat_pushes(port, port.cut(), repeats);
        port.end_launch(repeats);
      });
}

class Push : public ::testing::TestWithParam<Arrangement> {};

TEST_P(Push, SumsEveryCallsOwnNumbersHoweverLateMembersAre) {
  constexpr std::uint64_t calls = 300;
  const Node node(GetParam());
  const Outcome outcome = run(node, calls, 0);
  EXPECT_EQ(outcome.wrong, 0U);
  EXPECT_EQ(outcome.checked, calls * elements_received(shape_of(GetParam())));
}

TEST_P(Push, GivesUpOnAMemberThatNeverComes) {
  Arrangement arrangement = GetParam();
  arrangement.patience = 50'000;
  const int lost = arrangement.members - 1;
  const Node node(arrangement);
  const Outcome outcome = run(node, 12, only(lost));
  EXPECT_EQ(outcome.wrong, 0U);
  std::set<int> named;
  for (int member = 0; member < lost; ++member) named.insert(node.place(member).missing);
  named.erase(-1);  // whoever gave up because another had
  EXPECT_EQ(named, std::set{lost});
}

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
    ::testing::Values(Arrangement{Kind::all_reduce, 2, 4, 1, 16},       // the second share is empty
                      Arrangement{Kind::all_reduce, 3, 4 * 33, 2, 16},  // ends within a vector
                      Arrangement{Kind::all_reduce, 4, 1024, 1, 16},    // many more chunks than places
                      Arrangement{Kind::all_reduce, 3, 4 * 301, 2, 64, InPlace::in},
                      Arrangement{Kind::all_reduce, 5, 80, 3, 32},  // pairs without a chunk
                      Arrangement{Kind::all_reduce, 4, 16 * 13, 2, 16, InPlace::in},
                      Arrangement{Kind::reduce, 3, 4 * 121, 2, 16},
                      Arrangement{Kind::reduce_scatter, 4, 4 * 16 * 9, 2, 32}));

}  // namespace
}  // namespace linkscope::direct
