// Every method of the GPU backend on one GPU: what it moved is right, and what is wrong is found.
#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/error.hpp"
#include "prepared_flow.hpp"

namespace linkscope::testing {
namespace {

constexpr std::uint64_t seed = 42;

class GpuTransfers : public WithFlows {};

struct Kind {
  const char* method;
  const char* source;
  const char* destination;
};
constexpr std::array<Kind, 9> kinds = {{
    {"copy-engine", "pinned", "device"},
    {"copy-engine", "device", "registered"},
    {"copy-engine", "device", "device"},
    {"kernel-copy", "pinned", "device"},
    {"kernel-copy", "device", "write-combined"},
    {"kernel-copy", "device", "device"},
    {"kernel-exchange", "pinned", "device"},
    {"kernel-write", nullptr, "device"},
    {"kernel-read", "device", nullptr},
}};

TEST_F(GpuTransfers, DeliverEveryByteOfAnySizeInEverySlotByEveryLaunchShape) {
  for (const Kind& kind : kinds) {
    for (const Bytes bytes : {Bytes{1}, Bytes{15}, Bytes{16}, Bytes{4097}, 3 * MiB + 9}) {
      Prepared prepared = prepare(flow(kind.method, kind.source, kind.destination, bytes), 3);
      std::vector<Setting> settings = prepared.transfer->facts().candidates;
      if (settings.empty()) settings.emplace_back();
      for (const Setting& setting : settings) {
        if (!setting.empty()) prepared.transfer->use(setting);
        for (const Clock clock : {Clock::device, Clock::host}) {
          prepared.transfer->arm(seed);
          static_cast<void>(gate().run({{prepared.transfer.get(), 4}}, clock));
          const auto mismatch = prepared.transfer->verify(seed);
          EXPECT_FALSE(mismatch) << kind.method << " " << bytes << " B: " << mismatch->what;
          EXPECT_GE(prepared.transfer->verified_bytes(), 3 * bytes);
        }
      }
    }
  }
}

TEST_F(GpuTransfers, FindOneDamagedWord) {
  for (const Kind& kind : kinds) {
    Prepared prepared = prepare(flow(kind.method, kind.source, kind.destination, MiB + 5), 2);
    prepared.transfer->arm(seed);
    Buffer& victim = prepared.destination != nullptr ? *prepared.destination : *prepared.source;
    // A read's source is damaged before it is read, a destination after it was written.
    if (prepared.destination == nullptr) victim.poison(4096, 8);
    static_cast<void>(gate().run({{prepared.transfer.get(), 2}}, Clock::device));
    if (prepared.destination != nullptr) victim.poison(4096, 8);
    const auto mismatch = prepared.transfer->verify(seed);
    ASSERT_TRUE(mismatch) << kind.method;
    EXPECT_NE(mismatch->what.find("4096"), std::string::npos) << mismatch->what;
  }
}

TEST_F(GpuTransfers, WithinOneMemoryStateWhatTheyTouchWhicheverMethodCopies) {
  for (const char* name : {"copy-engine", "kernel-copy"}) {
    EXPECT_EQ(prepare(flow(name, "device", "device", MiB)).transfer->facts().touched_bytes, 2 * MiB) << name;
    EXPECT_EQ(prepare(flow(name, "pinned", "device", MiB)).transfer->facts().touched_bytes, 0U) << name;
  }
}

TEST_F(GpuTransfers, RotateThroughMoreThanACacheThatDoesNotEvictTheOldestLineCouldServe) {
  const Bytes cache = std::stoull(backend_->devices.front().attributes.at("l2_bytes"));
  ASSERT_GT(cache, 0);
  EXPECT_GE(method("kernel-read").rotation_bytes(flow("kernel-read", "device", nullptr, MiB)), 8 * cache);
}

TEST_F(GpuTransfers, OfOwnMemoryAreNotTunedToLinesThatStayInTheCache) {
  const auto streams = [](const Prepared& prepared) {
    const std::vector<Setting> settings = prepared.transfer->facts().candidates;
    return std::any_of(settings.begin(), settings.end(), [](const Setting& setting) {
      return std::find(setting.begin(), setting.end(),
                       std::pair<std::string, std::int64_t>{"streaming", 1}) != setting.end();
    });
  };
  EXPECT_FALSE(streams(prepare(flow("kernel-read", "device", nullptr, 64 * MiB))));
  EXPECT_FALSE(streams(prepare(flow("kernel-copy", "device", "device", 64 * MiB))));
  EXPECT_TRUE(streams(prepare(flow("kernel-copy", "pinned", "device", 64 * MiB), 2)));
  EXPECT_FALSE(streams(prepare(flow("kernel-copy", "pinned", "device", MiB))))
      << "repeats of a small slot would be served by first-level caches";
  Flow asked = flow("kernel-read", "device", nullptr, 64 * MiB);
  asked.parameters.set("streaming", "1");
  EXPECT_TRUE(streams(prepare(asked)));
}

TEST_F(GpuTransfers, OfASlotThatWasNeverReachedAreNotCalledVerified) {
  Prepared prepared = prepare(flow("kernel-copy", "device", "device", 4096), 8);
  prepared.transfer->arm(seed);
  static_cast<void>(gate().run({{prepared.transfer.get(), 3}}, Clock::device));
  EXPECT_FALSE(prepared.transfer->verify(seed));
  EXPECT_EQ(prepared.transfer->verified_bytes(), 3 * 4096);
}

TEST_F(GpuTransfers, OfKernelsSayWhetherTheirRepeatsOverlapped) {
  const auto overlap = [this](Bytes bytes, std::uint64_t repeats, Clock clock, const char* graph) {
    Prepared prepared = prepare(flow("kernel-copy", "pinned", "device", bytes, {{"graph", graph}}));
    EXPECT_EQ(fault_after(*prepared.transfer, repeats, clock, seed), "");
    const std::vector<std::string> notes = prepared.transfer->notes();
    return std::any_of(notes.begin(), notes.end(),
                       [](const std::string& note) { return note.starts_with("repeats overlap"); });
  };
  EXPECT_TRUE(overlap(4 * KiB, 10, Clock::device, "0"));
  EXPECT_FALSE(overlap(64 * MiB, 10, Clock::device, "0"));
  EXPECT_FALSE(overlap(4 * KiB, 1, Clock::device, "0"));
  EXPECT_FALSE(overlap(4 * KiB, 10, Clock::host, "0"));
  EXPECT_FALSE(overlap(4 * KiB, 10, Clock::device, "4"));
}

TEST_F(GpuTransfers, ChaseEndsWhereTheRingSays) {
  for (const char* name : {"pointer-chase", "bulk-chase"}) {
    for (const char* where : {"device", "pinned"}) {
      for (const char* order : {"sequential", "random"}) {
        Flow chase = flow(name, where, nullptr, MiB);
        chase.parameters.set("order", order);
        chase.parameters.set("hops", "300");
        if (const std::string reason = refusal(chase); !reason.empty()) {
          EXPECT_NE(reason.find("TMA"), std::string::npos) << name << ": " << reason;
          continue;
        }
        Prepared prepared = prepare(chase);
        for (std::uint64_t round = 1; round < 4; ++round)
          EXPECT_EQ(fault_after(*prepared.transfer, 2, Clock::device, round), "") << name << " " << where;
        EXPECT_EQ(prepared.transfer->facts().operations % 300, 0);
      }
    }
  }
}

TEST_F(GpuTransfers, ChasePutsNoFirstLoadsIntoTheFigureOfARingThatCachesHold) {
  const auto per_hop = [this](Bytes bytes) {
    Flow chase = flow("pointer-chase", "device", nullptr, bytes);
    chase.parameters.set("order", "random");
    Prepared prepared = prepare(chase);
    prepared.transfer->arm(seed);
    const Span span = gate().run({{prepared.transfer.get(), 1}}, Clock::device).front();
    const Span counted = prepared.transfer->counted(span);
    EXPECT_LE(counted.length(), span.length());
    EXPECT_FALSE(prepared.transfer->verify(seed));
    return counted.length() / static_cast<double>(prepared.transfer->facts().operations);
  };
  static_cast<void>(per_hop(4 * KiB));
  EXPECT_NEAR(per_hop(64 * KiB) / per_hop(4 * KiB), 1, 0.1)
      << "both fit a first-level cache of 128 KiB and more";
}

TEST_F(GpuTransfers, ChaseByLocalityEndsWhereTheRingSays) {
  Flow chase = flow("pointer-chase", "device", nullptr, 3 * MiB + 64 * KiB);
  chase.parameters.set("order", "random");
  chase.parameters.set("locality", "1048576");
  Prepared prepared = prepare(chase);
  prepared.transfer->arm(seed);
  static_cast<void>(gate().run({{prepared.transfer.get(), 2}}, Clock::device));
  EXPECT_FALSE(prepared.transfer->verify(seed));
  chase.parameters.set("locality", "64");
  EXPECT_THROW(static_cast<void>(method("pointer-chase").supports(chase)), Error);
}

TEST_F(GpuTransfers, SpansLieBetweenOpeningAndCollectingOnTheHostsClock) {
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  Prepared first = prepare(flow("copy-engine", "pinned", "device", MiB));
  Prepared second = prepare(flow("kernel-copy", "device", "device", MiB));
  first.transfer->arm(seed);
  second.transfer->arm(seed);
  gate().hold({{first.transfer.get(), 8}, {second.transfer.get(), 8}}, Clock::device);
  const double opened = now();
  gate().open();
  const auto spans = gate().collect();
  const double collected = now();
  const double uncertainty = gate().timeline_uncertainty();
  ASSERT_EQ(spans.size(), 2);
  EXPECT_GT(uncertainty, 0);
  for (const Span& span : spans) {
    EXPECT_GE(span.start, opened - uncertainty);
    EXPECT_LT(span.start, span.end);
    EXPECT_LE(span.end, collected + uncertainty);
  }
}

TEST_F(GpuTransfers, ThatWouldOverfillTheQueueAreRefusedAndTheGateGoesOn) {
  Prepared prepared = prepare(flow("copy-engine", "pinned", "device", 4096));
  prepared.transfer->arm(seed);
  const std::uint64_t most = prepared.transfer->facts().max_repeats;
  EXPECT_THROW(gate().hold({{prepared.transfer.get(), most + 1}}, Clock::device), Error);
  static_cast<void>(gate().run({{prepared.transfer.get(), most}}, Clock::device));
  static_cast<void>(gate().run({{prepared.transfer.get(), most + 1}}, Clock::host));
  EXPECT_FALSE(prepared.transfer->verify(seed));
}

TEST_F(GpuTransfers, BetweenAbsentDevicesAreUnsupportedForAReason) {
  Flow copy = flow("copy-engine", "device", "device", 4096);
  copy.destination->device = {DeviceKind::gpu, 99};
  EXPECT_NE(method("copy-engine").supports(copy).reason().find("gpu:99"), std::string::npos);
  EXPECT_FALSE(method("kernel-copy").supports(copy));
  EXPECT_FALSE(method("ping-pong").supports(flow("ping-pong", "device", "device", 8)));
}

}  // namespace
}  // namespace linkscope::testing
