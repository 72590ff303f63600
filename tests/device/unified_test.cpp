// Pages that migrate: prefetched, faulted, chased; what came over is right, what is wrong is found.
#include <array>
#include <string>
#include <utility>

#include "backend/host/backend.hpp"
#include "open_gpus.hpp"

namespace linkscope::testing {
namespace {

constexpr std::uint64_t seed = 42;
constexpr DeviceId numa0{DeviceKind::numa, 0};
constexpr Bytes some = 4 * MiB + 4096 + 8;

using Words = std::vector<std::pair<std::string, std::string>>;

/// Managed memory at home on one device, used by another.
Flow flow(const std::string& method, DeviceId home, DeviceId executor, Bytes bytes,
          const Words& parameters = {}) {
  Flow flow;
  flow.method = method;
  flow.source = endpoint(home, "managed");
  flow.source->placement = Placement::first_touch;
  flow.executor = executor;
  flow.bytes = bytes;
  for (const auto& [name, value] : parameters) flow.parameters.set(name, value);
  return flow;
}

class Unified : public WithGpus {
 protected:
  void SetUp() override {
    WithGpus::SetUp();
    if (IsSkipped()) return;
    if (const Support support = memory("managed").available(); !support) GTEST_SKIP() << support.reason();
    host_gate_ = host::host_gate(host_);
  }

  Gate& gate_of(const Transfer& transfer) { return gate().accepts(transfer) ? gate() : *host_gate_; }
  void start(Transfer& transfer, std::uint64_t repeats, Clock clock = Clock::device) {
    transfer.restore();
    static_cast<void>(gate_of(transfer).run({{&transfer, repeats}}, clock));
  }

  std::unique_ptr<Gate> host_gate_;
};

/// Everything that moves pages, both ways.
std::vector<Flow> all_flows(Bytes bytes) {
  std::vector<Flow> flows;
  const auto add = [&](const std::string& method, DeviceId home, DeviceId executor, const Words& parameters) {
    flows.push_back(flow(method, home, executor, bytes, parameters));
  };
  add("prefetch", numa0, gpu0, {});
  add("prefetch", gpu0, gpu0, {{"to", "host"}});
  for (const char* access : {"read", "write"}) {
    for (const char* touch : {"page", "word"}) {
      add("page-fault", numa0, gpu0, {{"access", access}, {"touch", touch}});
      add("page-fault", gpu0, numa0, {{"access", access}, {"touch", touch}});
    }
  }
  for (const char* order : {"sequential", "random"}) {
    add("fault-chase", numa0, gpu0, {{"order", order}, {"stride", "65536"}});
    add("fault-chase", gpu0, numa0, {{"order", order}, {"stride", "65536"}});
  }
  return flows;
}

std::string name_of(const Flow& flow) {
  std::string name = flow.method + " " + flow.source->device.text() + " by " + flow.executor.text();
  for (const auto& [parameter, value] : flow.parameters.all()) name += " " + parameter + "=" + value;
  return name;
}

TEST_F(Unified, TransfersVerifyRoundAfterRoundOnBothClocks) {
  for (const Flow& wanted : all_flows(some)) {
    Prepared prepared = prepare(wanted, 3);
    EXPECT_EQ(prepared.transfer->facts().max_repeats, 3) << name_of(wanted);
    for (const Clock clock : {Clock::device, Clock::host}) {
      prepared.transfer->arm(seed);
      for (const std::uint64_t repeats : {1U, 3U, 2U}) start(*prepared.transfer, repeats, clock);
      EXPECT_GT(prepared.transfer->verified_bytes(), 0) << name_of(wanted);
      const auto mismatch = prepared.transfer->verify(seed);
      EXPECT_FALSE(mismatch) << name_of(wanted) << ": " << mismatch->what;
    }
  }
}

TEST_F(Unified, TransfersOfAdvisedPagesVerifyAndSayWhereTheyMayNotMove) {
  for (Flow wanted : all_flows(some)) {
    for (const char* words :
         {"read-mostly", "accessed-by", "preferred-location", "read-mostly+accessed-by"}) {
      wanted.source->advice = words;
      Prepared prepared = prepare(wanted, 3);
      for (const std::uint64_t round : {seed, seed + 1}) {
        prepared.transfer->arm(round);
        for (const std::uint64_t repeats : {3U, 2U}) start(*prepared.transfer, repeats);
        const auto mismatch = prepared.transfer->verify(round);
        EXPECT_FALSE(mismatch) << name_of(wanted) << ", " << words << ": " << mismatch->what;
      }
      bool may_stay = false;
      for (const std::string& note : prepared.transfer->notes())
        may_stay = may_stay || note.find("instead of moving") != std::string::npos;
      EXPECT_EQ(may_stay, std::string(words) != "read-mostly") << name_of(wanted) << ", " << words;
    }
  }
}

TEST_F(Unified, TransfersOfLessThanABlockAreWhole) {
  for (const Flow& wanted : all_flows(128 * KiB)) {
    Prepared prepared = prepare(wanted, 8);
    prepared.transfer->arm(seed);
    start(*prepared.transfer, 8);
    const auto mismatch = prepared.transfer->verify(seed);
    EXPECT_FALSE(mismatch) << name_of(wanted) << ": " << mismatch->what;
  }
}

TEST_F(Unified, TransfersFindADamagedWord) {
  for (const Flow& wanted : all_flows(some)) {
    Prepared prepared = prepare(wanted);
    prepared.transfer->arm(seed);
    // Of a read the damage comes before, of all else after the transfer. Byte 65536 is one that all of them visit.
    const bool before = wanted.method != "prefetch" &&
                        wanted.parameters.given_text(text("access", "")).value_or("read") == "read";
    if (wanted.method == "fault-chase") continue;  // a damaged pointer is a wild one
    if (before) prepared.source->poison(65536, 8);
    start(*prepared.transfer, 1);
    if (!before) prepared.source->poison(65536, 8);
    EXPECT_TRUE(prepared.transfer->verify(seed)) << name_of(wanted);
  }
}

TEST_F(Unified, TransfersCanBeCheckedTwice) {
  for (const Flow& wanted : all_flows(some)) {
    Prepared prepared = prepare(wanted, 2);
    prepared.transfer->arm(seed);
    start(*prepared.transfer, 2);
    for (int check = 0; check < 2; ++check) {
      const auto mismatch = prepared.transfer->verify(seed);
      EXPECT_FALSE(mismatch) << name_of(wanted) << ", check " << check << ": " << mismatch->what;
    }
  }
}

TEST_F(Unified, WritesOfOneWordPerPageFindDamageBetweenTheWords) {
  Prepared prepared = prepare(flow("page-fault", numa0, gpu0, some, {{"access", "write"}}));
  prepared.transfer->arm(seed);
  start(*prepared.transfer, 1);
  prepared.source->poison(1000, 8);
  const auto mismatch = prepared.transfer->verify(seed);
  ASSERT_TRUE(mismatch);
  EXPECT_NE(mismatch->what.find("byte 1000"), std::string::npos) << mismatch->what;
}

TEST_F(Unified, ChasesFindAShorterRing) {
  Prepared prepared = prepare(flow("fault-chase", numa0, gpu0, some, {{"stride", "65536"}}));
  prepared.transfer->arm(seed);
  auto** const nodes = reinterpret_cast<std::byte**>(prepared.source->data());
  *nodes = prepared.source->data() + 2 * 65536;  // leaves out the second node: the walk ends one too far
  start(*prepared.transfer, 1);
  EXPECT_TRUE(prepared.transfer->verify(seed));
}

TEST_F(Unified, PrefetchesThatTheDriverWasToldToUndoAreFound) {
  const Flow up = flow("prefetch", numa0, gpu0, some);
  Prepared prepared = prepare(up);
  prepared.transfer->arm(seed);
  start(*prepared.transfer, 1);
  ASSERT_FALSE(prepared.transfer->verify(seed));
  // Another transfer sends the same pages back.
  const Arenas same{prepared.source.get(), nullptr, {method("prefetch").footprint(up), 1}};
  const auto back = method("prefetch").prepare(flow("prefetch", gpu0, gpu0, some, {{"to", "host"}}), same);
  static_cast<void>(gate().run({{back.get(), 1}}, Clock::device));
  const auto mismatch = prepared.transfer->verify(seed);
  ASSERT_TRUE(mismatch);
  EXPECT_NE(mismatch->what.find("the host, not gpu:0"), std::string::npos) << mismatch->what;
}

TEST_F(Unified, TransfersInOppositeDirectionsRunAtOnce) {
  const std::array<std::pair<Flow, Flow>, 3> pairs = {{
      {flow("prefetch", numa0, gpu0, some), flow("prefetch", gpu0, gpu0, some, {{"to", "host"}})},
      {flow("page-fault", numa0, gpu0, some), flow("page-fault", gpu0, numa0, some)},
      {flow("prefetch", numa0, gpu0, some), flow("page-fault", gpu0, numa0, some, {{"access", "read"}})},
  }};
  for (const auto& [up, down] : pairs) {
    Prepared first = prepare(up, 2);
    Prepared second = prepare(down, 2);
    for (Prepared* prepared : {&first, &second}) {
      prepared->transfer->arm(seed);
      prepared->transfer->restore();
    }
    if (&gate_of(*second.transfer) == &gate()) {
      static_cast<void>(gate().run({{first.transfer.get(), 2}, {second.transfer.get(), 2}}, Clock::device));
    } else {
      gate().hold({{first.transfer.get(), 2}}, Clock::device);
      host_gate_->hold({{second.transfer.get(), 2}}, Clock::device);
      gate().open();
      host_gate_->open();
      static_cast<void>(host_gate_->collect());
      static_cast<void>(gate().collect());
    }
    for (Prepared* prepared : {&first, &second}) {
      const auto mismatch = prepared->transfer->verify(seed);
      EXPECT_FALSE(mismatch) << name_of(up) << " and back: " << mismatch->what;
    }
  }
}

TEST_F(Unified, FaultsAreSharedByThreads) {
  if (host_->topology().nodes().front().cpus.size() < 3) GTEST_SKIP() << "needs three CPUs";
  for (const char* touch : {"page", "word"}) {
    for (const char* access : {"read", "write"}) {
      const Words words{{"threads", "3"}, {"touch", touch}, {"access", access}};
      Prepared prepared = prepare(flow("page-fault", gpu0, numa0, some, words), 2);
      prepared.transfer->arm(seed);
      start(*prepared.transfer, 2);
      const auto mismatch = prepared.transfer->verify(seed);
      EXPECT_FALSE(mismatch) << touch << ", " << access << ": " << mismatch->what;
    }
  }
}

TEST_F(Unified, SlotsShareNoBlockAndAreEnoughForSeveralRepeats) {
  for (const char* name : {"prefetch", "page-fault", "fault-chase"}) {
    const Flow small = flow(name, numa0, gpu0, 8 * KiB);
    EXPECT_EQ(method(name).footprint(small), 2 * MiB);
    EXPECT_GE(method(name).rotation_bytes(small), 16 * method(name).footprint(small));
    const Flow large = flow(name, numa0, gpu0, GiB);
    EXPECT_EQ(method(name).rotation_bytes(large), GiB);
  }
}

TEST_F(Unified, TransfersThatCannotBeAreRefusedForAReason) {
  const auto reason = [&](const Flow& wanted) {
    const Support support = method(wanted.method).supports(wanted);
    return support ? std::string("supported") : support.reason();
  };
  EXPECT_NE(reason(flow("prefetch", gpu0, gpu0, some, {{"to", "executor"}})).find("already"),
            std::string::npos);
  EXPECT_NE(reason(flow("page-fault", numa0, numa0, some)).find("already"), std::string::npos);
  EXPECT_NE(reason(flow("prefetch", numa0, gpu0, some, {{"to", "host"}})).find("executor"),
            std::string::npos);
  EXPECT_NE(reason(flow("prefetch", numa0, {DeviceKind::gpu, 99}, some)).find("gpu:99"), std::string::npos);
  EXPECT_NE(reason(flow("page-fault", numa0, gpu0, some, {{"threads", "4"}})).find("threads"),
            std::string::npos);
  EXPECT_NE(reason(flow("page-fault", gpu0, numa0, some, {{"threads", "99999"}})).find("CPUs"),
            std::string::npos);
  EXPECT_NE(reason(flow("page-fault", numa0, gpu0, 4097)).find("whole words"), std::string::npos);
  for (const char* name : {"prefetch", "page-fault", "fault-chase"}) {
    Flow pinned = flow(name, numa0, gpu0, some, {});
    pinned.source = at("pinned");
    EXPECT_NE(reason(pinned).find("managed"), std::string::npos) << name;
    Flow two_ends = flow(name, numa0, gpu0, some);
    two_ends.destination = at("managed");
    EXPECT_NE(reason(two_ends), "supported") << name;
  }
  EXPECT_NE(objection("prefetch", "to", "mars"), "");
  EXPECT_NE(objection("page-fault", "access", "both"), "");
  EXPECT_NE(objection("page-fault", "touch", "line"), "");
  EXPECT_THROW(static_cast<void>(reason(flow("fault-chase", numa0, gpu0, MiB))), Error);
  EXPECT_THROW(static_cast<void>(reason(flow("fault-chase", numa0, gpu0, some, {{"stride", "12"}}))), Error);
}

}  // namespace
}  // namespace linkscope::testing
