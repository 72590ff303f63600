// allocate, free, first-touch, cpu-read and cpu-write on this machine: they do what they say, and what is wrong is
// found.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "backend/host/allocation.hpp"
#include "backend/host/backend.hpp"
#include "backend/host/word_loops.hpp"
#include "base/error.hpp"
#include "endpoints.hpp"

namespace linkscope::host {
namespace {

constexpr std::uint64_t seed = 5;

class HostCalls : public ::testing::Test {
 protected:
  [[nodiscard]] Endpoint here(const std::string& memory = "pageable") const {
    return endpoint(node_, memory);
  }
  [[nodiscard]] Flow call(const std::string& method, Bytes bytes,
                          const std::string& memory = "pageable") const {
    Flow flow;
    flow.method = method;
    flow.destination = here(memory);
    flow.executor = node_;
    flow.bytes = bytes;
    return flow;
  }
  [[nodiscard]] bool has(const std::string& memory) const {
    return memory == "pageable" || static_cast<bool>(huge_->available());
  }
  [[nodiscard]] int cpus() const {
    return static_cast<int>(opened_.context->topology().find(node_.index)->cpus.size());
  }

  HostBackend opened_ = open();
  DeviceId node_{DeviceKind::numa, opened_.context->topology().nearest_with_cpus(0).index};
  std::unique_ptr<Memory> pageable_ = pageable_memory(opened_.context);
  std::unique_ptr<Memory> huge_ = huge_memory(opened_.context);
  Method allocate_ = host_allocate(opened_.context);
  Method free_ = host_free(opened_.context);
  Method first_touch_ = host_first_touch(opened_.context);
  Method read_ = cpu_read(opened_.context);
  Method write_ = cpu_write(opened_.context);
  Gate& gate_ = *opened_.backend.gate;
};

/// Counts what is taken and given back; can be told to go wrong.
class FakeAllocation final : public Allocation {
 public:
  struct Log {
    std::vector<Block> out;  ///< taken and not given back
    std::uint64_t taken = 0;
    std::uint64_t given_back = 0;
    std::uint64_t foreign = 0;    ///< given back without having been taken
    std::uint64_t refuse_at = 0;  ///< the take that fails, counted from 1; 0: none
    bool same = false;            ///< every take gives the same block
  };
  explicit FakeAllocation(Log& log) : log_(log) {}

  [[nodiscard]] int take(std::span<Block> blocks) noexcept override {
    for (Block& block : blocks) {
      if (++log_.taken == log_.refuse_at) return 7;
      block = memory_.data() + (log_.same ? 0 : log_.taken * size());
      log_.out.push_back(block);
    }
    return 0;
  }
  [[nodiscard]] int give_back(std::span<const Block> blocks) noexcept override {
    for (const Block block : blocks) {
      ++log_.given_back;
      const auto at = std::find(log_.out.begin(), log_.out.end(), block);
      if (at == log_.out.end()) {
        ++log_.foreign;
      } else {
        log_.out.erase(at);
      }
    }
    return 0;
  }
  [[nodiscard]] Error failure(int code) const override {
    return {Fault::broken, "fake code " + std::to_string(code)};
  }

 protected:
  [[nodiscard]] Bytes size() const override { return 16; }

 private:
  Log& log_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(4096);
};

TEST_F(HostCalls, TakenBlocksGoBackBetweenStarts) {
  FakeAllocation::Log log;
  {
    const auto made = allocation_calls(*opened_.context, node_.index, std::make_unique<FakeAllocation>(log),
                                       8, Measured::take);
    Transfer& calls = *made;
    calls.arm(seed);
    for (const std::uint64_t repeats : {3U, 8U}) {
      calls.restore();
      EXPECT_TRUE(log.out.empty());
      gate_.run({{&calls, repeats}}, Clock::host);
      EXPECT_EQ(log.out.size(), repeats);
    }
    EXPECT_FALSE(calls.verify(seed));
    EXPECT_EQ(calls.facts().max_repeats, 8U);
  }
  EXPECT_TRUE(log.out.empty()) << "what the last start took is given back too";
  EXPECT_EQ(log.foreign, 0U);
}

TEST_F(HostCalls, AKeptBlockOutlastsEveryStart) {
  for (const Measured measured : {Measured::take, Measured::give_back}) {
    FakeAllocation::Log log;
    {
      const auto made = allocation_calls(*opened_.context, node_.index, std::make_unique<FakeAllocation>(log),
                                         4, measured, Keeper::one);
      Transfer& calls = *made;
      ASSERT_EQ(log.out.size(), 1U);
      const Block kept = log.out.front();
      calls.arm(seed);
      for (int start = 0; start < 3; ++start) {
        calls.restore();
        gate_.run({{&calls, 4}}, Clock::host);
        EXPECT_NE(std::find(log.out.begin(), log.out.end(), kept), log.out.end());
      }
      EXPECT_FALSE(calls.verify(seed));
      EXPECT_EQ(calls.facts().max_repeats, 4U);
    }
    EXPECT_TRUE(log.out.empty());
    EXPECT_EQ(log.foreign, 0U);
  }
}

TEST_F(HostCalls, BlocksToGiveBackAreThereBeforeEveryStart) {
  FakeAllocation::Log log;
  {
    const auto made = allocation_calls(*opened_.context, node_.index, std::make_unique<FakeAllocation>(log),
                                       8, Measured::give_back);
    Transfer& calls = *made;
    calls.arm(seed);
    calls.restore();
    EXPECT_EQ(log.taken, 8U);
    gate_.run({{&calls, 5}}, Clock::device);
    EXPECT_EQ(log.out.size(), 3U);
    calls.restore();
    EXPECT_EQ(log.taken, 13U) << "only what went is taken anew";
    gate_.run({{&calls, 8}}, Clock::device);
    EXPECT_FALSE(calls.verify(seed));
  }
  EXPECT_TRUE(log.out.empty());
  EXPECT_EQ(log.foreign, 0U) << "nothing goes back twice";
}

TEST_F(HostCalls, FailedOrDoubledBlocksAreFound) {
  FakeAllocation::Log refusing;
  refusing.refuse_at = 3;
  FakeAllocation::Log doubling;
  doubling.same = true;
  for (FakeAllocation::Log* log : {&refusing, &doubling}) {
    const auto made = allocation_calls(*opened_.context, node_.index, std::make_unique<FakeAllocation>(*log),
                                       8, Measured::take);
    Transfer& calls = *made;
    calls.arm(seed);
    calls.restore();
    gate_.run({{&calls, 4}}, Clock::host);
    const auto mismatch = calls.verify(seed);
    ASSERT_TRUE(mismatch);
    EXPECT_NE(mismatch->what.find(log->same ? "0 B apart" : "fake code 7"), std::string::npos)
        << mismatch->what;
  }
  FakeAllocation::Log log;
  const auto made = allocation_calls(*opened_.context, node_.index, std::make_unique<FakeAllocation>(log), 2,
                                     Measured::take);
  Transfer& calls = *made;
  calls.arm(seed);
  calls.restore();
  gate_.run({{&calls, 3}}, Clock::host);
  EXPECT_TRUE(calls.verify(seed)) << "one more than may be held";
}

TEST_F(HostCalls, AllocateAndFreeRunOnThisMachine) {
  for (const char* memory : {"pageable", "huge"}) {
    for (const Bytes bytes : {Bytes{1}, Bytes{4096}, 3 * MiB + 5}) {
      for (const Method* method : {&allocate_, &free_}) {
        const Flow flow = call(std::string(method->name()), bytes, memory);
        if (!has(memory)) continue;
        ASSERT_TRUE(method->supports(flow));
        EXPECT_EQ(method->footprint(flow), 0U) << "no arena is leased for a call";
        const auto transfer = method->prepare(flow, {});
        transfer->arm(seed);
        for (int start = 0; start < 3; ++start) {
          transfer->restore();
          const auto spans = gate_.run(
              {{transfer.get(), std::min<std::uint64_t>(4, transfer->facts().max_repeats)}}, Clock::host);
          EXPECT_GT(spans[0].length(), 0);
        }
        const auto mismatch = transfer->verify(seed);
        EXPECT_FALSE(mismatch) << memory << " " << bytes << ": " << mismatch->what;
      }
    }
  }
}

TEST_F(HostCalls, WhatCannotFitIsNoMemoryBeforeAnythingIsAllocated) {
  for (const Method* method : {&allocate_, &free_, &first_touch_}) {
    for (const char* memory : {"pageable", "huge"}) {
      if (!has(memory)) continue;
      try {
        static_cast<void>(method->prepare(call(std::string(method->name()), Bytes{1} << 46U, memory), {}));
        FAIL() << method->name() << " " << memory;
      } catch (const Error& error) {
        EXPECT_EQ(error.fault(), Fault::no_memory) << error.what();
      }
    }
  }
}

TEST_F(HostCalls, FirstTouchWritesEveryByteOfFreshBlocks) {
  for (const char* memory : {"pageable", "huge"}) {
    for (const int threads : {1, 2}) {
      if (threads > cpus() || !has(memory)) continue;
      for (const Bytes bytes : {Bytes{200}, Bytes{4097}, 2 * MiB + 3}) {
        Flow flow = call("first-touch", bytes, memory);
        flow.parameters.set("threads", std::to_string(threads));
        ASSERT_TRUE(first_touch_.supports(flow)) << first_touch_.supports(flow).reason();
        const auto transfer = first_touch_.prepare(flow, {});
        for (std::uint64_t round = 1; round < 3; ++round) {
          transfer->arm(round);
          for (int start = 0; start < 2; ++start) {
            transfer->restore();
            gate_.run({{transfer.get(), 2}}, Clock::host);
          }
          const auto mismatch = transfer->verify(round);
          EXPECT_FALSE(mismatch) << mismatch->what;
          EXPECT_EQ(transfer->verified_bytes(), 2 * bytes);
        }
      }
    }
  }
}

TEST_F(HostCalls, TouchedBlocksAreReplacedAndUntouchedOnesFound) {
  FreshBlocks blocks(*opened_.context, node_.index, map_on_host({}, {4096, 3}, node_.index, std::nullopt),
                     {4096, 3});
  blocks.arm(seed);
  blocks.renew(0);
  std::fill_n(blocks.at(0), 4096, static_cast<std::byte>(blocks.value()));
  EXPECT_FALSE(blocks.find_wrong(1));
  const auto untouched = blocks.find_wrong(2);
  ASSERT_TRUE(untouched);
  EXPECT_NE(untouched->what.find("byte 0 of 4096 in fresh block 1"), std::string::npos) << untouched->what;
  blocks.at(0)[4095] = std::byte{0};
  EXPECT_NE(blocks.find_wrong(1)->what.find("byte 4095"), std::string::npos);
  blocks.renew(1);
  EXPECT_EQ(blocks.at(0)[0], std::byte{0}) << "fresh pages are zero";
  EXPECT_TRUE(blocks.find_wrong(4)) << "more than there are";
  EXPECT_EQ(blocks.at(3), nullptr);
}

struct Access {
  Bytes bytes;
  std::uint64_t slots;
  int threads;
  int non_temporal;
};

class CpuAccess : public HostCalls, public ::testing::WithParamInterface<Access> {
 protected:
  void parametrise(Flow& flow) const {
    flow.parameters.set("threads", std::to_string(GetParam().threads));
    flow.parameters.set("non_temporal", std::to_string(GetParam().non_temporal));
  }
  [[nodiscard]] Rotation rotation() const { return {(GetParam().bytes + 15) / 16 * 16, GetParam().slots}; }
};

TEST_P(CpuAccess, ReadsEveryByteAndFindsADamagedOne) {
  if (GetParam().threads > cpus()) GTEST_SKIP();
  Flow flow = call("cpu-read", GetParam().bytes);
  flow.source.swap(flow.destination);
  parametrise(flow);
  if (const Support support = read_.supports(flow); !support) GTEST_SKIP() << support.reason();
  const auto source = pageable_->allocate(here(), rotation().stride * rotation().slots);
  const auto transfer = read_.prepare(flow, {source.get(), nullptr, rotation()});
  for (const Clock clock : {Clock::device, Clock::host}) {
    transfer->arm(seed);
    gate_.run({{transfer.get(), 3}}, clock);
    gate_.run({{transfer.get(), 4}}, clock);
    const auto mismatch = transfer->verify(seed);
    EXPECT_FALSE(mismatch) << mismatch->what;
    EXPECT_TRUE(transfer->verify(seed + 1)) << "a check that accepts any data checks nothing";
    EXPECT_EQ(transfer->verified_bytes(), std::min<std::uint64_t>(7, rotation().slots) * GetParam().bytes);
  }
  transfer->arm(seed);
  const Bytes damaged = GetParam().bytes - 1;
  source->data()[damaged] ^= std::byte{0x10};
  gate_.run({{transfer.get(), 1}}, Clock::device);
  const auto mismatch = transfer->verify(seed);
  ASSERT_TRUE(mismatch);
  EXPECT_NE(mismatch->what.find("byte " + std::to_string(damaged) + " "), std::string::npos)
      << mismatch->what;
}

TEST_P(CpuAccess, WritesEveryByteAndFindsADamagedOne) {
  if (GetParam().threads > cpus()) GTEST_SKIP();
  Flow flow = call("cpu-write", GetParam().bytes);
  parametrise(flow);
  if (const Support support = write_.supports(flow); !support) GTEST_SKIP() << support.reason();
  const auto destination = pageable_->allocate(here(), rotation().stride * rotation().slots);
  const auto transfer = write_.prepare(flow, {nullptr, destination.get(), rotation()});
  for (const Clock clock : {Clock::device, Clock::host}) {
    transfer->arm(seed);
    gate_.run({{transfer.get(), 7}}, clock);
    const auto mismatch = transfer->verify(seed);
    EXPECT_FALSE(mismatch) << mismatch->what;
    EXPECT_EQ(transfer->verified_bytes(), std::min<std::uint64_t>(7, rotation().slots) * GetParam().bytes);
  }
  const Bytes damaged = GetParam().bytes - 1;
  destination->data()[damaged] ^= std::byte{0x10};
  const auto mismatch = transfer->verify(seed);
  ASSERT_TRUE(mismatch);
  EXPECT_NE(mismatch->what.find("byte " + std::to_string(damaged) + " "), std::string::npos)
      << mismatch->what;
}

INSTANTIATE_TEST_SUITE_P(Cases, CpuAccess,
                         ::testing::Values(Access{1, 1, 1, 0}, Access{4097, 1, 1, 0}, Access{130, 2, 2, 0},
                                           Access{1000003, 3, 2, 0}, Access{63, 1, 1, 1},
                                           Access{100001, 2, 1, 1}, Access{1000003, 9, 2, 1}));

TEST_F(HostCalls, MemoryOfOtherDevicesIsReachedOnceItsOwnerSaysSo) {
  const DeviceId gpu{DeviceKind::gpu, 0};
  const Endpoint there = endpoint(gpu, "managed");
  Flow read = call("cpu-read", 4096);
  read.source = there;
  read.destination.reset();
  Flow chase = read;
  Flow copy = call("memcpy", 4096);
  copy.source = there;
  const Method memcpy = memcpy_copy(opened_.context);
  const Method pointer_chase = host_pointer_chase(opened_.context);
  const auto all = [&] {
    return std::vector<Support>{read_.supports(read), pointer_chase.supports(chase), memcpy.supports(copy)};
  };
  for (const Support& support : all()) {
    ASSERT_FALSE(support);
    EXPECT_NE(support.reason().find("gpu:0"), std::string::npos) << support.reason();
  }
  opened_.context->widen([](const Endpoint& where) {
    return where.memory == "managed" ? Support::yes() : Support::no("not " + where.memory);
  });
  for (const Support& support : all()) EXPECT_TRUE(support);
  read.source->memory = "device";
  EXPECT_EQ(read_.supports(read).reason(), "not device");
}

TEST_F(HostCalls, RefusalsSayWhy) {
  Flow flow = call("allocate", 4096, "device");
  EXPECT_NE(allocate_.supports(flow).reason().find("device"), std::string::npos);
  flow = call("allocate", 4096);
  flow.source = here();
  EXPECT_NE(allocate_.supports(flow).reason().find("no source"), std::string::npos);
  flow = call("free", 4096);
  flow.destination.reset();
  EXPECT_FALSE(free_.supports(flow));
  flow = call("first-touch", 4096);
  flow.executor = {DeviceKind::gpu, 0};
  EXPECT_FALSE(first_touch_.supports(flow));
  flow = call("first-touch", 4096);
  flow.parameters.set("threads", std::to_string(cpus() + 1));
  EXPECT_NE(first_touch_.supports(flow).reason().find("CPUs"), std::string::npos);
  flow = call("cpu-write", 4096);
  flow.parameters.set("non_temporal", "2");
  EXPECT_THROW((void)write_.supports(flow), Error) << "a bound plan has 0 or 1";
  flow = call("cpu-read", 4096);
  EXPECT_FALSE(read_.supports(flow)) << "a destination is nothing to read";
}

}  // namespace
}  // namespace linkscope::host
