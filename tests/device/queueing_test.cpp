// Streams of high priority, late arrivals, copies in pieces and matrix products: what runs beside something else.
#include <array>
#include <limits>
#include <string>

#include "backend/gpu/transfer.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "prepared_flow.hpp"

namespace linkscope::testing {
namespace {

constexpr std::uint64_t seed = 42;

#define gpuStreamGetPriority LINKSCOPE_API(StreamGetPriority)

/// Remembers the priority of the stream that it was given.
class Probe final : public gpu::GpuTransfer {
 public:
  [[nodiscard]] int device() const override { return 0; }
  void enqueue(gpuStream_t stream, std::uint64_t /*repeats*/) override {
    LINKSCOPE_CHECK(gpuStreamGetPriority(stream, &found));
  }
  int found = std::numeric_limits<int>::max();
};

class Queueing : public WithFlows {
 protected:
  /// Runs nothing, though the transfer is told that once it did; whether verify() finds that.
  [[nodiscard]] static bool nothing_is_found(Transfer& transfer) {
    auto& work = dynamic_cast<gpu::GpuTransfer&>(transfer);
    work.arm(seed);
    work.count_as_run(1);
    return work.verify(seed).has_value();
  }
};

TEST_F(Queueing, AHighPriorityIsThatOfTheLanesStream) {
  int lowest = 0;
  int highest = 0;
  LINKSCOPE_CHECK(gpuDeviceGetStreamPriorityRange(&lowest, &highest));
  for (const Clock clock : {Clock::device, Clock::host}) {
    Probe usual;
    Probe urgent;
    urgent.set_priority(gpu::StreamPriority::high);
    static_cast<void>(gate().run({{&usual, 1}, {&urgent, 1}}, clock));
    EXPECT_EQ(usual.found, 0);
    EXPECT_EQ(urgent.found, highest);
  }
}

TEST_F(Queueing, ParametersOfAFlowReachItsTransfer) {
  const Prepared prepared =
      prepare(flow("copy-engine", "pinned", "device", 4 * KiB, {{"priority", "high"}, {"arrival", "500"}}));
  const auto& work = dynamic_cast<const gpu::GpuTransfer&>(*prepared.transfer);
  EXPECT_EQ(work.priority(), gpu::StreamPriority::high);
  EXPECT_DOUBLE_EQ(work.latest_arrival(), 500e-6);
  EXPECT_TRUE(work.facts().arrives_late);
  EXPECT_EQ(work.facts().max_repeats, 1U);
}

TEST_F(Queueing, LateArrivalsDeliverEveryByte) {
  const Prepared late = prepare(flow("copy-engine", "pinned", "device", 4 * KiB, {{"arrival", "1000"}}));
  for (int start = 0; start < 32; ++start) ASSERT_EQ(fault_after(*late.transfer, 1, Clock::device, seed), "");
}

TEST_F(Queueing, PiecesDeliverEveryByteAndDamageIsFound) {
  for (const char* piece : {"4096", "65536", "1048576", "8388608"}) {
    for (const char* between : {"nothing", "kernel"}) {
      if (std::string(between) == "kernel" && std::stoul(piece) > 256 * KiB) continue;
      for (const auto& [source, destination] : {std::pair{"pinned", "device"}, {"device", "pinned"}}) {
        const Flow wanted =
            flow("copy-engine", source, destination, 256 * KiB + 9, {{"piece", piece}, {"between", between}});
        const Prepared prepared = prepare(wanted, 3);
        for (const Clock clock : {Clock::device, Clock::host})
          EXPECT_EQ(fault_after(*prepared.transfer, 1, clock, seed), "") << piece << " " << between;
        EXPECT_TRUE(nothing_is_found(*prepared.transfer));
        prepared.transfer->arm(seed);
        static_cast<void>(gate().run({{prepared.transfer.get(), 1}}, Clock::device));
        prepared.destination->poison(256 * KiB + 8, 1);
        EXPECT_TRUE(prepared.transfer->verify(seed)) << "the last byte of the last piece";
      }
    }
  }
}

TEST_F(Queueing, WhatCannotBeSoIsRefused) {
  using Asked = std::map<std::string, std::string>;
  for (const Asked& asked : {Asked{{"piece", "4096"}},
                             {{"between", "kernel"}},
                             {{"between", "kernel"}, {"piece", "4194304"}},
                             {{"call", "sync"}, {"priority", "high"}},
                             {{"call", "sync"}, {"arrival", "100"}},
                             {{"call", "sync"}, {"between", "kernel"}}})
    EXPECT_NE(refusal(flow("copy-engine", "pinned", "device", 4 * MiB, asked)), "");
  EXPECT_EQ(refusal(flow("copy-engine", "pinned", "device", 4 * MiB, {{"call", "sync"}, {"piece", "4096"}})),
            "");
}

TEST_F(Queueing, MatrixProductsAreRight) {
  using Asked = std::map<std::string, std::string>;
  for (const Asked& asked : {Asked{{"n", "256"}},
                             {{"m", "96"}, {"n", "80"}, {"k", "4096"}},
                             {{"n", "1024"}, {"sms", "16"}},
                             {{"n", "512"}, {"graph", "3"}},
                             {{"n", "512"}, {"priority", "high"}}}) {
    const Flow wanted = flow("matrix-product", nullptr, nullptr, 1, asked);
    if (const std::string reason = refusal(wanted); !reason.empty()) GTEST_SKIP() << reason;
    const Prepared prepared = prepare(wanted);
    for (const Clock clock : {Clock::device, Clock::host})
      EXPECT_EQ(fault_after(*prepared.transfer, 3, clock, seed), "");
    EXPECT_GT(prepared.transfer->verified_bytes(), 0U);
    EXPECT_TRUE(prepared.transfer->verify(seed + 1)) << "that of other factors";
    EXPECT_TRUE(nothing_is_found(*prepared.transfer));
  }
}

}  // namespace
}  // namespace linkscope::testing
