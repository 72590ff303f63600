// Members' plain memory, the threads that move chunks through it, and what any protocol of theirs must do.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <ostream>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "collective/protocol/workspace.hpp"
#include "member_threads.hpp"
#include "model/elements.hpp"

namespace linkscope::direct {

using Numbers = std::vector<int>;

struct ChunkCase {
  CollectiveKind kind = CollectiveKind::all_reduce;
  int members = 3;
  Bytes bytes = 48;
  unsigned workers = 2;  ///< of a push: pairs of them
  Bytes chunk = 16;
  InPlace place = InPlace::out;
  std::uint64_t timeout = 10'000'000;  ///< looks
};

inline std::ostream& operator<<(std::ostream& out, const ChunkCase& one) {
  return out << name_of(one.kind) << " of " << one.bytes << " B, " << one.members << " members, "
             << one.workers << " workers, chunks of " << one.chunk << " B"
             << (one.place == InPlace::in ? ", in place" : "");
}

inline CollectiveShape shape_of(const ChunkCase& one) {
  return {one.kind, ElementType::int32, one.place, one.members, one.bytes};
}

/// One member's memory, as large as the whole whatever the kind. What derives from it adds counters, which are atomic.
struct ChunkMemory {
  ChunkMemory(const ChunkCase& one, Bytes staging_bytes)
      : staging(staging_bytes / 4, -1), source(one.bytes / 4), destination(one.bytes / 4) {}
  Numbers staging, source, destination;
  std::atomic<bool> poison{false};
  std::atomic<int> missing{-1};
};

template <class Place>
class ChunkNode {
 public:
  explicit ChunkNode(const ChunkCase& wanted) : wanted_(wanted) {
    for (int member = 0; member < wanted.members; ++member)
      places_.push_back(std::make_unique<Place>(wanted));
  }
  [[nodiscard]] const ChunkCase& wanted() const { return wanted_; }
  [[nodiscard]] Place& place(int member) const { return *places_[static_cast<std::size_t>(member)]; }
  [[nodiscard]] Numbers& result(int member) const {
    return wanted_.place == InPlace::in ? place(member).source : place(member).destination;
  }

 private:
  ChunkCase wanted_;
  std::vector<std::unique_ptr<Place>> places_;
};

/// A thread as a worker of one member.
template <class Place>
class ChunkThread {
 public:
  ChunkThread(const ChunkNode<Place>& node, int me, unsigned worker)
      : node_(node), me_(me), worker_(worker), random_(static_cast<unsigned>(me) * 64 + worker + 1) {}

  [[nodiscard]] std::uint64_t wrong() const { return wrong_; }
  [[nodiscard]] std::uint64_t checked() const { return checked_; }
  /// The launch is over.
  void end_launch(std::uint64_t calls) { made_ += calls; }
  [[nodiscard]] std::uint64_t call(std::uint64_t turn) const { return made_ + turn; }

 protected:
  static constexpr int nobody = -1;

  [[nodiscard]] Place& own() const { return node_.place(me_); }
  void check(int found, int expected) {
    ++checked_;
    if (found != expected) ++wrong_;
  }
  static void publish(std::atomic<std::uint64_t>& count, std::uint64_t number) {
    count.store(number, std::memory_order_release);
  }
  /// False where the wait was given up; `member` is to blame then. `nobody`: another waits for the one that is late.
  bool await_count(const std::atomic<std::uint64_t>& count, int member, std::uint64_t number) {
    for (std::uint64_t looks = 0; count.load(std::memory_order_acquire) < number; ++looks) {
      std::this_thread::yield();
      if (own().poison) return false;
      if (member == nobody || looks < node_.wanted().timeout) continue;
      own().missing = member;
      for (int other = 0; other < node_.wanted().members; ++other) node_.place(other).poison = true;
      return false;
    }
    return true;
  }
  void inject_jitter(unsigned seldom) {
    for (unsigned idle = random_() % seldom == 0 ? random_() % 32U : 0; idle > 0; --idle)
      std::this_thread::yield();
  }

  const ChunkNode<Place>& node_;
  int me_;
  unsigned worker_;

 private:
  std::minstd_rand random_;
  std::uint64_t made_ = 0;
  std::uint64_t wrong_ = 0;
  std::uint64_t checked_ = 0;
};

/// `run(node, calls, absent)` for 300 calls: each member gets all the numbers of each call, and no others.
template <class Place, class Run>
void expect_every_calls_own_numbers(const ChunkCase& wanted, const Run& run) {
  constexpr std::uint64_t calls = 300;
  const ChunkNode<Place> node(wanted);
  const Outcome outcome = run(node, calls, 0);
  EXPECT_EQ(outcome.wrong, 0U);
  EXPECT_EQ(outcome.checked, calls * elements_received(shape_of(wanted)));
}

/// Where the last member never comes, all others give up and nobody else is named.
template <class Place, class Run>
void expect_last_member_named(ChunkCase wanted, const Run& run) {
  wanted.timeout = 50'000;
  const int lost = wanted.members - 1;
  const ChunkNode<Place> node(wanted);
  const Outcome outcome = run(node, 12, only(lost));
  EXPECT_EQ(outcome.wrong, 0U);
  std::set<int> named;
  for (int member = 0; member < lost; ++member) named.insert(node.place(member).missing);
  named.erase(-1);  // those that gave up because another had
  EXPECT_EQ(named, std::set{lost});
}

}  // namespace linkscope::direct
