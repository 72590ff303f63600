// HostGate: no lane starts before it opens, all do afterwards, spans are ordered, crowds do not deadlock.
#include "backend/host/backend.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <set>
#include <thread>
#include <vector>

#include "backend/host/host_transfer.hpp"
#include "base/error.hpp"
#include "base/steady_clock.hpp"

namespace linkscope::host {
namespace {

/// Counts what it is asked to do.
class Counting final : public HostTransfer {
 public:
  Counting(int node, unsigned threads) : HostTransfer(node, threads), per_part(threads) {}
  void perform(unsigned part, std::uint64_t first, std::uint64_t repeats) noexcept override {
    if (first != seen) wrong_first = true;
    per_part[part] += repeats;
    if (per_part[part] > slowest_others(part) + 1) ahead = true;
    cpu = sched_getcpu();
  }
  [[nodiscard]] std::uint64_t slowest_others(unsigned part) const {
    std::uint64_t least = per_part[part];
    for (const auto& count : per_part) least = std::min(least, count.load());
    return least;
  }

  std::vector<std::atomic<std::uint64_t>> per_part;
  std::uint64_t seen = 0;  ///< what `first` shall be
  std::atomic<bool> wrong_first{false};
  std::atomic<bool> ahead{false};  ///< a part began a repeat before another had ended the one before
  std::atomic<int> cpu{-1};
};

/// Wants one thread and no other.
class Particular final : public HostTransfer {
 public:
  Particular(int node, Worker& only) : HostTransfer(node, 1), only_(&only) {}
  [[nodiscard]] Worker* own_worker() override { return only_; }
  void perform(unsigned, std::uint64_t, std::uint64_t) noexcept override {
    thread = std::this_thread::get_id();
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    cpu = CPU_COUNT(&allowed) == 1 ? sched_getcpu() : -1;
  }

  std::thread::id thread;
  int cpu = -1;  ///< of a thread that is kept to one

 private:
  Worker* only_;
};

/// Fails, and says so when it is asked.
class Failing final : public HostTransfer {
 public:
  explicit Failing(int node) : HostTransfer(node, 1) {}
  void expect(Clock clock) override { expected = clock; }
  void perform(unsigned, std::uint64_t, std::uint64_t) noexcept override { failed = fails; }
  void rethrow() override {
    if (failed) throw Error(Fault::broken, "it went wrong");
  }

  Clock expected = Clock::device;
  bool fails = true;
  bool failed = false;
};

class NotOfTheHost final : public Transfer {
 public:
};

class HostGateTest : public ::testing::Test {
 protected:
  std::shared_ptr<HostContext> context_ = std::make_shared<HostContext>();
  int node_ = context_->topology().nearest_with_cpus(0).index;
  std::unique_ptr<Gate> own_gate_ = host_gate(context_);
  Gate& gate_ = *own_gate_;
};

TEST_F(HostGateTest, NothingRunsBeforeItOpens) {
  Counting transfer(node_, 1);
  gate_.hold({{&transfer, 7}}, Clock::device);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(transfer.per_part[0], 0U);
  const double opened = steady_seconds();
  gate_.open();
  const auto spans = gate_.collect();
  const double collected = steady_seconds();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(transfer.per_part[0], 7U);
  EXPECT_GE(spans[0].start, opened);
  EXPECT_GE(spans[0].end, spans[0].start);
  EXPECT_LE(spans[0].end, collected);
}

/// Set while the worker is in it: as if another thread had its CPU.
std::atomic<bool> put_off{false};
std::atomic<double> back_at{0};
void put_off_for_a_while(int /*signal*/) {
  put_off = true;
  const double begin = steady_seconds();
  while (steady_seconds() < begin + 2e-3) {
  }
  back_at = steady_seconds();
}

TEST_F(HostGateTest, DoesNotOpenBeforeAThreadIsBackOnItsCpu) {
  const std::vector<int>& cpus = context_->workers(node_).cpus();
  if (cpus.size() < 2) GTEST_SKIP() << "needs a CPU for the caller";
  Worker worker(cpus.front());
  pthread_t thread{};
  worker.start([&] { thread = pthread_self(); });
  worker.wait();
  std::signal(SIGUSR2, put_off_for_a_while);
  Particular slow(node_, worker);
  gate_.hold({{&slow, 1}}, Clock::device);
  put_off = false;
  pthread_kill(thread, SIGUSR2);
  while (!put_off) std::this_thread::yield();
  const double begin = steady_seconds();
  gate_.open();
  const double opened = steady_seconds();
  gate_.collect();
  std::signal(SIGUSR2, SIG_DFL);
  if (back_at - begin > 5e-3) GTEST_SKIP() << "this machine is too busy";
  EXPECT_GE(opened, back_at) << "its late start would be time of the transfer";
}

TEST_F(HostGateTest, LeftOpenItLetsThreadsThatMeetEnd) {
  Counting transfer(node_, 3);
  for (int round = 0; round < 50; ++round) {
    const std::unique_ptr<Gate> left = host_gate(context_);
    left->hold({{&transfer, 2}}, Clock::host);
    left->open();
  }
  for (const auto& count : transfer.per_part) EXPECT_EQ(count, 100U);
}

TEST_F(HostGateTest, EveryLaneGetsItsSpanInOrder) {
  Counting one(node_, 1);
  Counting two(node_, 1);
  const double before = steady_seconds();
  const auto spans = gate_.run({{&one, 3}, {&two, 5}}, Clock::device);
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(one.per_part[0], 3U);
  EXPECT_EQ(two.per_part[0], 5U);
  for (const Span& span : spans) {
    EXPECT_GE(span.start, before);
    EXPECT_GE(span.length(), 0);
  }
}

TEST_F(HostGateTest, LanesTakeDifferentCpus) {
  if (context_->topology().find(node_)->cpus.size() < 2) GTEST_SKIP() << "needs two CPUs";
  Counting one(node_, 1);
  Counting two(node_, 1);
  gate_.run({{&one, 1}, {&two, 1}}, Clock::device);
  EXPECT_NE(one.cpu, two.cpu);
}

TEST_F(HostGateTest, ATransferWithAThreadOfItsOwnTakesItToItsCpu) {
  if (context_->topology().find(node_)->cpus.size() < 2) GTEST_SKIP() << "needs two CPUs";
  Worker worker;
  std::thread::id id;
  worker.start([&] { id = std::this_thread::get_id(); });
  worker.wait();
  Particular particular(node_, worker);
  Counting other(node_, 1);
  gate_.run({{&particular, 1}, {&other, 1}}, Clock::device);
  EXPECT_EQ(particular.thread, id);
  const std::vector<int>& cpus = context_->workers(node_).cpus();
  EXPECT_EQ(particular.cpu, cpus[0]);
  gate_.run({{&other, 1}, {&particular, 1}}, Clock::device);
  EXPECT_EQ(particular.thread, id);
  EXPECT_EQ(particular.cpu, cpus[1]) << "the first CPU is the other's now";
}

TEST_F(HostGateTest, CountsRepeatsSinceArm) {
  Counting transfer(node_, 1);
  gate_.run({{&transfer, 4}}, Clock::device);
  transfer.seen = 4;
  gate_.run({{&transfer, 2}}, Clock::device);
  EXPECT_EQ(transfer.transfers(), 6U);
  transfer.arm(0);
  transfer.seen = 0;
  gate_.run({{&transfer, 1}}, Clock::device);
  EXPECT_EQ(transfer.transfers(), 1U);
  EXPECT_FALSE(transfer.wrong_first);
}

TEST_F(HostGateTest, OnTheHostClockThreadsMeetAfterEachRepeat) {
  Counting transfer(node_, 2);
  // Each repeat is announced with its own number, so the check of `first` is off here.
  gate_.run({{&transfer, 200}}, Clock::host);
  EXPECT_EQ(transfer.per_part[0], 200U);
  EXPECT_EQ(transfer.per_part[1], 200U);
  EXPECT_FALSE(transfer.ahead);
}

TEST_F(HostGateTest, MoreThreadsThanCpusComeThrough) {
  const auto cpus = static_cast<unsigned>(context_->topology().find(node_)->cpus.size());
  Counting wide(node_, cpus);
  Counting more(node_, cpus);
  Counting last(node_, 1);
  const auto spans = gate_.run({{&wide, 2}, {&more, 2}, {&last, 2}}, Clock::device);
  ASSERT_EQ(spans.size(), 3U);
  for (unsigned part = 0; part < cpus; ++part) EXPECT_EQ(more.per_part[part], 2U);
}

TEST_F(HostGateTest, AbandonedStartRunsNothingAndTheNextWorks) {
  Counting transfer(node_, 1);
  gate_.hold({{&transfer, 9}}, Clock::device);
  gate_.run({{&transfer, 1}}, Clock::device);
  EXPECT_EQ(transfer.per_part[0], 1U);
  EXPECT_EQ(transfer.transfers(), 1U);
}

TEST_F(HostGateTest, ATransferIsToldItsClock) {
  Failing transfer(node_);
  transfer.fails = false;
  gate_.run({{&transfer, 1}}, Clock::batch);
  EXPECT_EQ(transfer.expected, Clock::batch);
}

TEST_F(HostGateTest, OnTheBatchClockThreadsDoNotMeet) {
  Counting transfer(node_, 2);
  gate_.run({{&transfer, 50}}, Clock::batch);
  EXPECT_FALSE(transfer.wrong_first) << "one call for all repeats";
  EXPECT_EQ(transfer.per_part[1], 50U);
}

TEST_F(HostGateTest, WhatFailedIsThrownWhenAllHaveEndedAndTheGateGoesOn) {
  Failing failing(node_);
  Counting sound(node_, 1);
  EXPECT_THROW(gate_.run({{&failing, 1}, {&sound, 6}}, Clock::device), Error);
  EXPECT_EQ(sound.per_part[0], 6U);
  failing.fails = false;
  EXPECT_EQ(gate_.run({{&failing, 1}}, Clock::device).size(), 1U);
}

TEST_F(HostGateTest, LeavesTheCallersAffinityAsItWas) {
  cpu_set_t before;
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  Counting transfer(node_, 1);
  gate_.run({{&transfer, 1}}, Clock::device);
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

/// Carries each repeat out in two stamped pieces of which the gate sees one.
class Stamped final : public StampedTransfer {
 public:
  using StampedTransfer::StampedTransfer;

  Seconds longest = 0;  ///< what all its work took

 protected:
  [[nodiscard]] std::optional<Span> carry_out(std::uint64_t first, std::uint64_t repeats) noexcept override {
    return stamped(first, repeats, [this](std::uint64_t, std::uint64_t) noexcept {
      const Seconds before = steady_seconds();
      if (last_ > 0) longest += before - last_;
      last_ = before;
      return true;
    });
  }

 private:
  Seconds last_ = 0;
};

TEST_F(HostGateTest, AStampedSpanEndsWhereItsWorkDidAndItsLengthIsThatOfThePieces) {
  Stamped transfer(node_);
  const Span gate_span = gate_.run({{&transfer, 1000}}, Clock::host).front();
  const Span span = transfer.counted(gate_span);
  EXPECT_GT(span.between, 0) << "stamps themselves take time";
  EXPECT_NEAR(span.length(), span.end - span.start - span.between, 1e-12);
  EXPECT_LE(span.end, gate_span.end);
  EXPECT_GE(span.end - span.start, transfer.longest) << "an aggregate holds what is between the pieces";
}

TEST_F(HostGateTest, RefusesForeignTransfers) {
  NotOfTheHost foreign;
  EXPECT_FALSE(gate_.accepts(foreign));
  EXPECT_TRUE(gate_.accepts(Counting(node_, 1)));
  EXPECT_THROW(gate_.hold({{&foreign, 1}}, Clock::device), Error);
}

}  // namespace
}  // namespace linkscope::host
