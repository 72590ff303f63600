// The ring protocol, tried out by threads on plain memory: only its flags order what they load and store.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <ostream>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "collective/protocol/ring_protocol.hpp"
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
  unsigned workers = 2;
  Bytes chunk = 16;
  InPlace place = InPlace::out;
  std::uint64_t patience = 10'000'000;  ///< looks
};

std::ostream& operator<<(std::ostream& out, const Arrangement& one) {
  return out << name_of(one.kind) << " of " << one.bytes << " B, " << one.members << " members, "
             << one.workers << " workers, chunks of " << one.chunk << " B"
             << (one.place == InPlace::in ? ", in place" : "");
}

CollectiveShape shape_of(const Arrangement& one) {
  return {one.kind, ElementType::int32, one.place, one.members, one.bytes};
}

RingCut cut_of(const Arrangement& one, int me) { return ring_cut(shape_of(one), me, one.workers, one.chunk); }

/// One member's memory, as large as the whole whatever the kind. Counters are all that is atomic.
struct Place {
  struct Counts {
    std::atomic<std::uint64_t> things = 0, read = 0;
    std::array<std::atomic<std::uint64_t>, most_members> arrivals{};
  };

  explicit Place(const Arrangement& one)
      : staging(cut_of(one, 0).staging_bytes() / 4, -1),
        source(one.bytes / 4),
        destination(one.bytes / 4),
        counts(one.workers) {}
  Numbers staging, source, destination;
  std::vector<Counts> counts;
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

/// A thread as a worker: it writes numbers that only this call has, and checks what comes of them.
class ThreadPort {
 public:
  ThreadPort(const Node& node, int me, unsigned worker)
      : node_(node),
        cut_(cut_of(node.arrangement(), me)),
        worker_(worker),
        random_(static_cast<unsigned>(me) * 64 + worker + 1) {}

  [[nodiscard]] const RingCut& cut() const { return cut_; }
  [[nodiscard]] std::uint64_t wrong() const { return wrong_; }
  [[nodiscard]] std::uint64_t checked() const { return checked_; }
  /// The launch is over.
  void end_launch(std::uint64_t calls) { made_ += calls; }

  [[nodiscard]] unsigned worker() const { return worker_; }
  [[nodiscard]] std::uint64_t call(std::uint64_t turn) const { return made_ + turn; }
  void begin(std::uint64_t turn) {
    dawdle(8);
    each_index(cut_.sources(),
               [&](int, std::size_t i) { own().source[i] = input_element(call(turn), cut_.me, i); });
  }
  bool peer_barrier(std::uint64_t call) {
    for (int other = 0; other < cut_.members; ++other)
      tell(node_.place(other).counts[worker_].arrivals[static_cast<std::size_t>(cut_.me)], call);
    for (int other = 0; other < cut_.members; ++other) {
      if (!await(own().counts[worker_].arrivals[static_cast<std::size_t>(other)], other, call)) return false;
    }
    return true;
  }
  bool await(std::uint64_t things, std::uint64_t room) {
    return await(own().counts[worker_].things, nobody, things) &&
           await(own().counts[worker_].read, nobody, room);
  }
  void move(const RingStep& step) {
    EXPECT_LE(step.bytes, cut_.chunk);
    for (Bytes i = 0; i < step.bytes / 4; ++i) {
      const std::size_t at = step.at / 4 + i;
      int number = step.takes == RingTakes::result ? node_.result(cut_.me)[at] : own().source[at];
      if (step.taken != 0) number += own().staging[cut_.place(worker_, step.taken) / 4 + i];
      if (step.gives == RingGives::staging)
        node_.place(cut_.next()).staging[cut_.place(worker_, step.placed) / 4 + i] = number;
      if (step.gives == RingGives::result) node_.result(cut_.next())[at] = number;
      if (step.keeps) node_.result(cut_.me)[at] = number;
    }
    dawdle(16);
  }
  void tell(std::uint64_t sent, std::uint64_t read) {
    if (sent != 0) tell(node_.place(cut_.next()).counts[worker_].things, sent);
    if (read != 0) tell(node_.place(cut_.previous()).counts[worker_].read, read);
  }
  void end(std::uint64_t call) {
    dawdle(4);
    each_index(cut_.results(), [&](int share, std::size_t i) {
      ++checked_;
      const int expected =
          cut_.sums() ? summed_element(call, cut_.members, i) : input_element(call, share, i);
      if (node_.result(cut_.me)[i] != expected) ++wrong_;
    });
  }

 private:
  static constexpr int nobody = -1;  ///< whoever is late in the ring may be so because another is

  [[nodiscard]] Place& own() const { return node_.place(cut_.me); }
  template <class What>
  void each_index(MemberSet shares, const What& what) const {
    for (int share = 0; share < cut_.shares; ++share) {
      for (std::uint32_t round = 0; holds(shares, share) && round < cut_.rounds(worker_); ++round) {
        const Bytes first = (Bytes{round} * cut_.workers + worker_) * cut_.chunk;
        const Bytes end = std::min(first + cut_.chunk, cut_.length(share));
        for (Bytes at = first; at < end; at += 4)
          what(share, (cut_.share * static_cast<Bytes>(share) + at) / 4);
      }
    }
  }
  static void tell(std::atomic<std::uint64_t>& count, std::uint64_t number) {
    count.store(number, std::memory_order_release);
  }
  bool await(std::atomic<std::uint64_t>& count, int member, std::uint64_t number) {
    for (std::uint64_t looks = 0; count.load(std::memory_order_acquire) < number; ++looks) {
      std::this_thread::yield();
      if (own().poison) return false;
      if (member == nobody || looks < node_.arrangement().patience) continue;
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
  RingCut cut_;
  unsigned worker_;
  std::minstd_rand random_;
  std::uint64_t made_ = 0;
  std::uint64_t wrong_ = 0;
  std::uint64_t checked_ = 0;
};

Outcome run(const Node& node, std::uint64_t calls, MemberSet absent) {
  return run_members(
      node.arrangement().members, node.arrangement().workers, calls, absent,
      [&node](int member, unsigned worker) { return std::make_unique<ThreadPort>(node, member, worker); },
      [](ThreadPort& port, std::uint64_t repeats) {
        repeat_rings(port, port.cut(), repeats);
        port.end_launch(repeats);
      });
}

class Ring : public ::testing::TestWithParam<Arrangement> {};

TEST_P(Ring, BringsEveryCallsOwnNumbersHoweverLateMembersAre) {
  constexpr std::uint64_t calls = 300;
  const Node node(GetParam());
  const Outcome outcome = run(node, calls, 0);
  EXPECT_EQ(outcome.wrong, 0U);
  EXPECT_EQ(outcome.checked, calls * elements_received(shape_of(GetParam())));
}

TEST_P(Ring, GivesUpOnAMemberThatNeverComes) {
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

/// What a member stores for the next one at a stop is what that one awaits and takes at the stop after it.
TEST_P(Ring, CountsAlikeAtBothEndsOfEveryLink) {
  for (int me = 0; me < GetParam().members; ++me) {
    const RingCut cut = cut_of(GetParam(), me);
    const RingCut next = cut_of(GetParam(), cut.next());
    for (unsigned worker = 0; worker < cut.workers; ++worker) {
      std::uint64_t sent = 0;
      std::uint64_t placed = 0;
      for (std::uint64_t call = 1; call <= 3; ++call) {
        for (std::uint32_t round = 0; round < cut.rounds(worker); ++round) {
          for (int stop = cut.first; stop < cut.last; ++stop) {
            if (!cut.stops(stop)) continue;
            const RingStep step = cut.step(worker, call, round, stop);
            ASSERT_TRUE(next.stops(stop + 1));
            const RingStep after = next.step(worker, call, round, stop + 1);
            EXPECT_EQ(step.sent, ++sent);
            EXPECT_EQ(after.awaited, step.sent);
            EXPECT_EQ(after.taken, step.placed);
            EXPECT_EQ(after.at, step.at);
            EXPECT_EQ(after.bytes, step.bytes);
            EXPECT_EQ(after.takes == RingTakes::result, step.gives == RingGives::result);
            if (step.gives != RingGives::staging) continue;
            EXPECT_EQ(step.placed, ++placed);
            EXPECT_LE(cut.place(worker, step.placed) + cut.chunk, cut.staging_bytes());
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Collectives, Ring,
    ::testing::Values(Arrangement{Kind::all_reduce, 2, 4, 1, 16},       // the second share is empty
                      Arrangement{Kind::all_reduce, 2, 4 * 64, 2, 16},  // the next one is the one before
                      Arrangement{Kind::all_reduce, 3, 4 * 33, 2, 16},  // ends within a vector
                      Arrangement{Kind::all_reduce, 4, 1024, 1, 16},    // many more chunks than places
                      Arrangement{Kind::all_reduce, 3, 4 * 301, 2, 64, InPlace::in},
                      Arrangement{Kind::all_reduce, 5, 80, 3, 32},  // workers without a chunk
                      Arrangement{Kind::reduce, 3, 4 * 121, 2, 16},
                      Arrangement{Kind::reduce_scatter, 4, 4 * 16 * 9, 2, 32},
                      Arrangement{Kind::all_gather, 4, 4 * 16 * 9, 2, 32},
                      Arrangement{Kind::all_gather, 3, 3 * 16 * 5, 1, 16, InPlace::in},
                      Arrangement{Kind::broadcast, 2, 4 * 77, 2, 16},
                      Arrangement{Kind::broadcast, 4, 4 * 121, 2, 32, InPlace::in}));

}  // namespace
}  // namespace linkscope::direct
