// Workers: no job is lost or waited for in vain, however often they are handed one.
#include "backend/host/workers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/host/context.hpp"
#include "base/error.hpp"

namespace linkscope::host {
namespace {

class WorkersTest : public ::testing::Test {
 protected:
  HostContext context_;
  std::vector<int> cpus_ = context_.topology().nearest_with_cpus(0).cpus;
};

/// A little work whose length differs from job to job, so that both sides are found asleep and awake.
std::uint64_t some_work(std::uint64_t seed) {
  std::uint64_t state = seed * 0x9E3779B97F4A7C15ULL + 1;
  for (std::uint64_t i = 0; i < (seed * 2654435761ULL >> 7U) % 4096; ++i)
    state = state * 6364136223846793005ULL + 1;
  return state | 1U;
}

/// Hangs where a wake-up is lost.
TEST_F(WorkersTest, EveryJobIsDoneOnceAndWaitedFor) {
  constexpr std::uint64_t rounds = 20000;
  Worker worker(cpus_.front());
  std::uint64_t done = 0;  // no atomic: the hand-off orders both sides
  for (std::uint64_t round = 0; round < rounds; ++round) {
    worker.start([&done, round] { done += some_work(round) != 0 ? 1 : 0; });
    if (round % 3 == 0) static_cast<void>(some_work(round + 1));
    worker.wait();
    ASSERT_EQ(done, round + 1);
  }
}

TEST_F(WorkersTest, ManyAreStartedBeforeAnyIsWaitedFor) {
  constexpr std::uint64_t rounds = 2000;
  constexpr std::size_t count = 16;
  WorkerPool pool(cpus_);
  std::vector<std::uint64_t> done(count * 8, 0);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < count; ++i)
      pool.worker(i).start([&done, i, round] { done[i * 8] += some_work(round + i) != 0 ? 1 : 0; });
    for (std::size_t i = count; i > 0; --i) pool.worker(i - 1).wait();
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(done[i * 8], round + 1);
  }
}

TEST_F(WorkersTest, ASecondCallerIsFoundAndTheFirstOnesJobGoesOn) {
  Worker worker(cpus_.front());
  std::atomic<bool> go{false};
  bool done = false;
  worker.start([&] {
    while (!go) std::this_thread::yield();
    done = true;
  });
  EXPECT_THROW(worker.start([] {}), Error);
  go = true;
  worker.wait();
  EXPECT_TRUE(done);
}

TEST_F(WorkersTest, WaitingWithoutAJobOrTwiceReturns) {
  Worker worker(cpus_.front());
  worker.wait();
  int done = 0;
  worker.start([&done] { ++done; });
  worker.wait();
  worker.wait();
  EXPECT_EQ(done, 1);
}

TEST_F(WorkersTest, AWorkerThatGoesEndsItsJobFirst) {
  for (int round = 0; round < 200; ++round) {
    std::uint64_t done = 0;
    std::make_unique<Worker>(cpus_.front())->start([&done] { done = some_work(99); });
    ASSERT_NE(done, 0U);
  }
}

TEST_F(WorkersTest, SharesCoverTheRangeOnce) {
  WorkerPool pool(cpus_);
  for (const Bytes length : {Bytes{1}, 256 * KiB, 256 * KiB + 1, 4 * MiB, 33 * MiB + 5}) {
    std::vector<std::atomic<std::uint8_t>> touched((length + 4095) / 4096);
    pool.share_pinned(length, [&](Bytes offset, Bytes size) {
      for (Bytes at = offset; at < offset + size; at += 4096) ++touched[at / 4096];
    });
    for (const auto& times : touched) ASSERT_EQ(times, 1) << length;
  }
}

}  // namespace
}  // namespace linkscope::host
