// GpuGate: calls in a row, and work that several GPUs do by calls that belong together.
#include <atomic>
#include <barrier>
#include <mutex>
#include <stdexcept>

#include "backend/gpu/context.hpp"
#include "backend/gpu/gate/gpu_gate.hpp"
#include "backend/gpu/streams.hpp"
#include "backend/gpu/transfer.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "open_gpus.hpp"

namespace linkscope::testing {
namespace {

using gpu::DeviceStream;
using gpu::LaunchThreads;

/// Sets a little of a GPU's memory, over and over.
class Scratch {
 public:
  explicit Scratch(int device, Bytes bytes = 64 * KiB) : device_(device), bytes_(bytes) {
    LINKSCOPE_CHECK(gpuSetDevice(device_));
    LINKSCOPE_CHECK(gpuMalloc(&memory_, bytes_));
  }
  ~Scratch() { static_cast<void>(gpuFree(memory_)); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void set(gpuStream_t stream) const {
    LINKSCOPE_CHECK(gpuSetDevice(device_));
    LINKSCOPE_CHECK(gpuMemsetAsync(memory_, 1, bytes_, stream));
  }

 private:
  int device_;
  Bytes bytes_;
  void* memory_ = nullptr;
};

class Work : public gpu::GpuTransfer {
 public:
  explicit Work(int device, gpu::MultiGpuWork* shared_work = nullptr)
      : device_(device), shared_work_(shared_work), scratch_(device) {
    own_facts().max_repeats = 16;
  }
  [[nodiscard]] int device() const override { return device_; }
  [[nodiscard]] gpu::MultiGpuWork* shared_work() override { return shared_work_; }
  void enqueue(gpuStream_t stream, std::uint64_t repeats) override {
    for (std::uint64_t i = 0; i < repeats; ++i) scratch_.set(stream);
    calls += repeats;
  }
  void arm(std::uint64_t /*seed*/) override {}
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t /*seed*/) const override { return std::nullopt; }
  [[nodiscard]] Bytes verified_bytes() const override { return 0; }
  void flush() override {}

  std::uint64_t calls = 0;

 private:
  int device_;
  gpu::MultiGpuWork* shared_work_;
  Scratch scratch_;
};

/// Counts what it is asked for; may wait for all its GPUs' calls to meet, and may fail on one of them.
class Shared : public gpu::MultiGpuWork {
 public:
  /// `slow_device`: has more to set than the others.
  Shared(LaunchThreads launch, std::vector<int> devices, int slow_device = -1)
      : launch_(launch), meeting_(std::ssize(devices)) {
    for (const int device : devices) {
      scratch_.try_emplace(device, device, device == slow_device ? GiB : 64 * KiB);
    }
  }
  [[nodiscard]] LaunchThreads launch() const override { return launch_; }
  void enqueue(const std::vector<DeviceStream>& streams, std::uint64_t repeats) override {
    {
      const std::scoped_lock lock(mutex_);
      asked.push_back(streams);
    }
    if (fails_on >= 0) {
      if (streams.front().device == fails_on) throw Error(Fault::broken, "this call fails");
      given_up.wait(false);  // as a call does that waits for one that never comes
      throw Error(Fault::broken, "given up");
    }
    if (launch_ == LaunchThreads::thread_per_gpu) meeting_.arrive_and_wait();
    for (std::uint64_t i = 0; i < repeats; ++i) {
      for (const DeviceStream& one : streams) scratch_.at(one.device).set(one.stream);
    }
  }
  void watch() const override {}
  void give_up() noexcept override {
    given_up = true;
    given_up.notify_all();
  }

  std::vector<std::vector<DeviceStream>> asked;
  int fails_on = -1;
  std::atomic<bool> given_up{false};

 private:
  LaunchThreads launch_;
  std::barrier<> meeting_;
  std::mutex mutex_;
  std::map<int, Scratch> scratch_;
};

class GpuGateTest : public WithGpus {
 protected:
  [[nodiscard]] int last() const { return static_cast<int>(backend_->devices.size()) - 1; }
  /// gpu:0, and another where there is one.
  [[nodiscard]] std::vector<int> some() const {
    return last() > 0 ? std::vector<int>{0, last()} : std::vector<int>{0};
  }
};

TEST_F(GpuGateTest, MakesMoreCallsInARowThanTheQueueHolds) {
  Work work(0);
  const auto spans = gate().run({{&work, 5000}}, Clock::batch);
  EXPECT_EQ(work.calls, 5000U);
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_GT(spans.front().length(), 0);
  EXPECT_THROW(gate().hold({{&work, 17}}, Clock::device), Error);
  EXPECT_EQ(gate().run({{&work, 16}}, Clock::device).size(), 1U);
}

TEST_F(GpuGateTest, HasATailOnEveryClock) {
  Work work(0);
  for (const Clock clock : {Clock::device, Clock::host, Clock::batch}) {
    const Span span = gate().run({{&work, 4, 3}}, clock).front();
    EXPECT_LT(span.start, span.end);
    EXPECT_LT(span.end, span.idle);
  }
  EXPECT_EQ(work.calls, 21U);
}

TEST_F(GpuGateTest, HasOneThreadEnqueueWhatGpusDoTogether) {
  Shared shared(LaunchThreads::one_thread, some());
  std::vector<std::unique_ptr<Work>> parts;
  std::vector<Lane> lanes;
  for (const int device : some()) {
    for (int twice = 0; twice < 2; ++twice) {  // a sender and a receiver on the same GPU share its stream
      parts.push_back(std::make_unique<Work>(device, &shared));
      lanes.push_back({parts.back().get(), 8});
    }
  }
  for (const Clock clock : {Clock::device, Clock::batch}) {
    shared.asked.clear();
    const auto spans = gate().run(lanes, clock);
    ASSERT_EQ(shared.asked.size(), 1U);
    EXPECT_EQ(shared.asked.front().size(), some().size());
    ASSERT_EQ(spans.size(), lanes.size());
    EXPECT_EQ(spans[0].start, spans[1].start);
    EXPECT_EQ(spans[0].end, spans[1].end);
    if (clock == Clock::batch) {
      EXPECT_EQ(spans.front().start, spans.back().start);
    }
  }
  shared.asked.clear();
  static_cast<void>(gate().run(lanes, Clock::host));
  EXPECT_EQ(shared.asked.size(), 8U);
}

TEST_F(GpuGateTest, LetsCallsOfSeveralThreadsMeet) {
  if (last() == 0) GTEST_SKIP() << "one GPU";
  Shared shared(LaunchThreads::thread_per_gpu, some());
  Work one(0, &shared);
  Work other(last(), &shared);
  for (const Clock clock : {Clock::device, Clock::host, Clock::batch}) {
    shared.asked.clear();
    const auto spans = gate().run({{&one, 5}, {&other, 5}}, clock);
    EXPECT_EQ(shared.asked.size(), clock == Clock::host ? 10U : 2U);
    for (const auto& streams : shared.asked) EXPECT_EQ(streams.size(), 1U);
    for (const Span& span : spans) EXPECT_LT(span.start, span.end);
  }
}

TEST_F(GpuGateTest, EndsALaneWithItsOwnGpuHoweverManyThreadsCall) {
  if (last() == 0) GTEST_SKIP() << "one GPU";
  for (const LaunchThreads launch : {LaunchThreads::one_thread, LaunchThreads::thread_per_gpu}) {
    for (const Clock clock : {Clock::host, Clock::batch}) {
      Shared shared(launch, some(), 0);
      Work slow(0, &shared);
      Work quick(last(), &shared);
      // A busy machine may delay either; lanes of one span never end apart.
      bool ended_before = false;
      for (int attempt = 0; attempt < 20 && !ended_before; ++attempt) {
        const auto spans = gate().run({{&slow, 4}, {&quick, 4}}, clock);
        ended_before = spans[1].end < spans[0].end;
      }
      EXPECT_TRUE(ended_before) << static_cast<int>(launch);
    }
  }
}

TEST_F(GpuGateTest, CountsEveryGpusClockError) {
  Work one(0);
  Work other(last());
  EXPECT_TRUE(gate().clock_errors().empty());
  static_cast<void>(gate().run({{&one, 1}, {&other, 1}}, Clock::device));
  const std::vector<Seconds> errors = gate().clock_errors();
  ASSERT_EQ(errors.size(), some().size());
  for (const Seconds error : errors) {
    EXPECT_GT(error, 0);
    EXPECT_LT(error, 1e-3);
  }
}

TEST_F(GpuGateTest, TellsTheFirstFaultAndLetsTheOthersGo) {
  if (last() == 0) GTEST_SKIP() << "one GPU";
  for (const Clock clock : {Clock::device, Clock::host, Clock::batch}) {
    Shared shared(LaunchThreads::thread_per_gpu, some());
    shared.fails_on = last();
    Work one(0, &shared);
    Work other(last(), &shared);
    try {
      static_cast<void>(gate().run({{&one, 2}, {&other, 2}}, clock));
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "this call fails");
    }
    EXPECT_TRUE(shared.given_up);
  }
  Work work(0);
  EXPECT_EQ(gate().run({{&work, 2}}, Clock::device).size(), 1U);
}

TEST_F(GpuGateTest, GoesOnAfterAFaultWhileItWasClosed) {
  Shared shared(LaunchThreads::one_thread, some());
  shared.fails_on = 0;
  Work one(0, &shared);
  Work beside(0);
  EXPECT_THROW(gate().hold({{&beside, 3}, {&one, 3}}, Clock::device), Error);
  EXPECT_EQ(gate().run({{&beside, 3}}, Clock::device).size(), 1U);
}

TEST_F(GpuGateTest, RefusesCommonCallsThatRepeatUnlike) {
  Shared shared(LaunchThreads::one_thread, {0});
  Work one(0, &shared);
  Work other(0, &shared);
  EXPECT_THROW(gate().hold({{&one, 2}, {&other, 3}}, Clock::device), Error);
  EXPECT_TRUE(shared.asked.empty());
  EXPECT_EQ(gate().run({{&one, 2}, {&other, 2}}, Clock::device).size(), 2U);
}

}  // namespace
}  // namespace linkscope::testing
