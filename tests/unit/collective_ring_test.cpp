// The ring protocol, tried out by threads on plain memory: only its flags order what they load and store.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "chunk_threads.hpp"
#include "collective/protocol/ring_protocol.hpp"

namespace linkscope::direct {
namespace {

using Kind = CollectiveKind;

RingCut cut_of(const ChunkCase& one, int me) { return ring_cut(shape_of(one), me, one.workers, one.chunk); }

struct RingMemory : ChunkMemory {
  struct Counts {
    std::atomic<std::uint64_t> things = 0, read = 0;
    std::array<std::atomic<std::uint64_t>, most_members> arrivals{};
  };

  explicit RingMemory(const ChunkCase& one)
      : ChunkMemory(one, cut_of(one, 0).staging_bytes()), counts(one.workers) {}
  std::vector<Counts> counts;
};

/// A thread as a worker: it writes numbers that only this call has, and checks what comes of them.
class RingThread : public ChunkThread<RingMemory> {
 public:
  RingThread(const ChunkNode<RingMemory>& node, int me, unsigned worker)
      : ChunkThread(node, me, worker), cut_(cut_of(node.wanted(), me)) {}

  [[nodiscard]] const RingCut& cut() const { return cut_; }
  [[nodiscard]] unsigned worker() const { return worker_; }
  void begin(std::uint64_t turn) {
    inject_jitter(8);
    each_index(cut_.sources(),
               [&](int, std::size_t i) { own().source[i] = input_element(call(turn), cut_.me, i); });
  }
  bool meet(std::uint64_t call) {
    for (int other = 0; other < cut_.members; ++other)
      publish(node_.place(other).counts[worker_].arrivals[static_cast<std::size_t>(cut_.me)], call);
    for (int other = 0; other < cut_.members; ++other) {
      if (!await_count(own().counts[worker_].arrivals[static_cast<std::size_t>(other)], other, call))
        return false;
    }
    return true;
  }
  bool await(std::uint64_t things, std::uint64_t room) {
    return await_count(own().counts[worker_].things, nobody, things) &&
           await_count(own().counts[worker_].read, nobody, room);
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
    inject_jitter(16);
  }
  void tell(std::uint64_t sent, std::uint64_t read) {
    if (sent != 0) publish(node_.place(cut_.next()).counts[worker_].things, sent);
    if (read != 0) publish(node_.place(cut_.previous()).counts[worker_].read, read);
  }
  void end(std::uint64_t call) {
    inject_jitter(4);
    each_index(cut_.results(), [&](int share, std::size_t i) {
      check(node_.result(cut_.me)[i],
            cut_.sums() ? summed_element(call, cut_.members, i) : input_element(call, share, i));
    });
  }

 private:
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

  RingCut cut_;
};

Outcome run(const ChunkNode<RingMemory>& node, std::uint64_t calls, MemberSet absent) {
  return run_members(
      node.wanted().members, node.wanted().workers, calls, absent,
      [&node](int member, unsigned worker) { return std::make_unique<RingThread>(node, member, worker); },
      [](RingThread& port, std::uint64_t repeats) {
        repeat_rings(port, port.cut(), repeats);
        port.end_launch(repeats);
      });
}

class Ring : public ::testing::TestWithParam<ChunkCase> {};

TEST_P(Ring, BringsEveryCallsOwnNumbersHoweverLateMembersAre) {
  expect_every_calls_own_numbers<RingMemory>(GetParam(), run);
}

TEST_P(Ring, GivesUpOnAMemberThatNeverComes) { expect_last_member_named<RingMemory>(GetParam(), run); }

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
    ::testing::Values(ChunkCase{Kind::all_reduce, 2, 4, 1, 16},       // the second share is empty
                      ChunkCase{Kind::all_reduce, 2, 4 * 64, 2, 16},  // the next one is the one before
                      ChunkCase{Kind::all_reduce, 3, 4 * 33, 2, 16},  // ends within a vector
                      ChunkCase{Kind::all_reduce, 4, 1024, 1, 16},    // many more chunks than places
                      ChunkCase{Kind::all_reduce, 3, 4 * 301, 2, 64, InPlace::in},
                      ChunkCase{Kind::all_reduce, 5, 80, 3, 32},  // workers without a chunk
                      ChunkCase{Kind::reduce, 3, 4 * 121, 2, 16},
                      ChunkCase{Kind::reduce_scatter, 4, 4 * 16 * 9, 2, 32},
                      ChunkCase{Kind::all_gather, 4, 4 * 16 * 9, 2, 32},
                      ChunkCase{Kind::all_gather, 3, 3 * 16 * 5, 1, 16, InPlace::in},
                      ChunkCase{Kind::broadcast, 2, 4 * 77, 2, 16},
                      ChunkCase{Kind::broadcast, 4, 4 * 121, 2, 32, InPlace::in}));

}  // namespace
}  // namespace linkscope::direct
