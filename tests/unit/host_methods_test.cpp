// The host's memories and methods through its gate: real bytes moved, checked, and placed where asked.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backend/host/backend.hpp"
#include "backend/host/host_buffer.hpp"
#include "backend/host/slot_transfer.hpp"
#include "base/error.hpp"
#include "base/steady_clock.hpp"
#include "endpoints.hpp"
#include "measure/case_measurement.hpp"

namespace linkscope::host {
namespace {

DeviceId numa(int index) { return {DeviceKind::numa, index}; }

class HostMethods : public ::testing::Test {
 protected:
  [[nodiscard]] Endpoint here(const std::string& memory = "pageable") const {
    return endpoint(node_, memory);
  }
  [[nodiscard]] Flow copy(Bytes bytes) const {
    Flow flow;
    flow.method = "memcpy";
    flow.source = here();
    flow.destination = here();
    flow.executor = node_;
    flow.bytes = bytes;
    return flow;
  }
  [[nodiscard]] Flow chase(Bytes bytes) const {
    Flow flow;
    flow.method = "pointer-chase";
    flow.source = here();
    flow.executor = node_;
    flow.bytes = bytes;
    return flow;
  }
  [[nodiscard]] int cpus() const {
    return static_cast<int>(opened_.context->topology().find(node_.index)->cpus.size());
  }

  HostBackend opened_ = open();
  DeviceId node_ = numa(opened_.context->topology().nearest_with_cpus(0).index);
  std::unique_ptr<Memory> pageable_ = pageable_memory(opened_.context);
  std::unique_ptr<Memory> huge_ = huge_memory(opened_.context);
  Method memcpy_ = memcpy_copy(opened_.context);
  Method chase_ = host_pointer_chase(opened_.context);
  Gate& gate_ = *opened_.backend.gate;
};

struct CopyCase {
  Bytes bytes;
  std::uint64_t slots;
  int threads;
  int non_temporal;
};

class HostCopies : public HostMethods, public ::testing::WithParamInterface<CopyCase> {};

TEST_P(HostCopies, DeliverEveryByteOnBothClocks) {
  const CopyCase& wanted = GetParam();
  if (wanted.threads > cpus()) GTEST_SKIP() << "needs " << wanted.threads << " CPUs";
  Flow flow = copy(wanted.bytes);
  flow.parameters.set("threads", std::to_string(wanted.threads));
  flow.parameters.set("non_temporal", std::to_string(wanted.non_temporal));
  if (const Support support = memcpy_.supports(flow); !support) GTEST_SKIP() << support.reason();
  const Rotation rotation{(wanted.bytes + 4095) / 4096 * 4096, wanted.slots};
  const auto source = pageable_->allocate(here(), rotation.stride * rotation.slots);
  const auto destination = pageable_->allocate(here(), rotation.stride * rotation.slots);
  const auto transfer = memcpy_.prepare(flow, {source.get(), destination.get(), rotation});
  for (const Clock clock : {Clock::device, Clock::host}) {
    transfer->arm(5);
    EXPECT_EQ(transfer->verified_bytes(), 0U);
    gate_.run({{transfer.get(), 1}}, clock);
    gate_.run({{transfer.get(), 2}}, clock);
    const auto mismatch = transfer->verify(5);
    EXPECT_FALSE(mismatch.has_value()) << mismatch->what;
    EXPECT_EQ(transfer->verified_bytes(), std::min<Bytes>(3, wanted.slots) * wanted.bytes);
    EXPECT_TRUE(transfer->verify(6).has_value()) << "a check that accepts any data checks nothing";
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, HostCopies,
                         ::testing::Values(CopyCase{1, 1, 1, 0}, CopyCase{4097, 1, 1, 0},
                                           CopyCase{65536, 5, 1, 0}, CopyCase{130, 2, 2, 0},
                                           CopyCase{1000003, 3, 2, 0}, CopyCase{63, 1, 1, 1},
                                           CopyCase{100001, 2, 1, 1}, CopyCase{1000003, 1, 2, 1}));

TEST_F(HostMethods, CopyThatDidNotRunIsAMismatch) {
  const Flow flow = copy(4096);
  const auto source = pageable_->allocate(here(), 4096);
  const auto destination = pageable_->allocate(here(), 4096);
  const auto transfer = memcpy_.prepare(flow, {source.get(), destination.get(), {4096, 1}});
  transfer->arm(1);
  gate_.run({{transfer.get(), 1}}, Clock::device);
  destination->poison(100, 1);
  const auto mismatch = transfer->verify(1);
  ASSERT_TRUE(mismatch.has_value());
  EXPECT_NE(mismatch->what.find("byte 100 of 4096"), std::string::npos) << mismatch->what;
}

/// Copies, and has a fault.
class Faulty final : public SlotTransfer {
 public:
  enum class Fault { none, every_third_does_nothing, carries_what_was_there_first };
  Faulty(const Flow& flow, const Arenas& arenas, Fault fault) : SlotTransfer(flow, arenas), fault_(fault) {}

  void arm(std::uint64_t seed) override {
    SlotTransfer::arm(seed);
    stale_.clear();
  }
  void perform(unsigned part, std::uint64_t first, std::uint64_t repeats) noexcept override {
    const Bytes extent = arenas().rotation.stride * arenas().rotation.slots;
    if (stale_.empty()) stale_.assign(arenas().source->data(), arenas().source->data() + extent);
    const bool stale = fault_ == Fault::carries_what_was_there_first;
    const std::byte* const from = stale ? stale_.data() : arenas().source->data();
    for (std::uint64_t i = first; i < first + repeats; ++i) {
      if (fault_ == Fault::every_third_does_nothing && i % 3 == 2) continue;
      sweep(part, i, 1, [&](Bytes offset, Bytes size) {
        std::memcpy(arenas().destination->data() + offset, from + offset, size);
      });
    }
  }

 private:
  Fault fault_;
  std::vector<std::byte> stale_;
};

TEST_F(HostMethods, ATransferThatDoesNothingOrCarriesOldDataIsFoundAmongRepeats) {
  using enum Faulty::Fault;
  const Flow flow = copy(4096);
  for (const std::uint64_t slots : {1U, 7U}) {
    const Rotation rotation{4096, slots};
    const auto source = pageable_->allocate(here(), slots * 4096);
    const auto destination = pageable_->allocate(here(), slots * 4096);
    for (const auto fault : {none, every_third_does_nothing, carries_what_was_there_first}) {
      Faulty transfer(flow, {source.get(), destination.get(), rotation}, fault);
      MeasurementSession session{{}, steady_seconds, 1, {}};
      const std::vector<MeasuredFlow> flows{
          {{{&transfer}}, 4096, Role::measured, Quantity::bandwidth, "", {}}};
      const auto measure = [&] {
        return measure_case(session, gate_, flows, {.clock = Clock::device, .cache = Cache::warm});
      };
      if (fault == none) {
        EXPECT_GT(measure().verified_bytes, 0U);
        continue;
      }
      try {
        static_cast<void>(measure());
        ADD_FAILURE() << "fault " << static_cast<int>(fault) << " in " << slots << " slots was not found";
      } catch (const Error& error) {
        EXPECT_EQ(error.fault(), linkscope::Fault::mismatch) << error.what();
      }
    }
  }
}

TEST_F(HostMethods, EveryThreadHasAShareAndTheRowSaysHowManyTakePart) {
  for (const unsigned threads : {1U, 2U, 30U, 62U}) {
    for (const Bytes bytes : {Bytes{4096}, Bytes{4099}, 1 * MiB}) {
      Bytes next = 0;
      for (unsigned part = 0; part < threads; ++part) {
        const ThreadShare share = share_of(bytes, part, threads, 64);
        EXPECT_EQ(share.offset, next);
        EXPECT_GT(share.size, 0U) << part << " of " << threads << " in " << bytes;
        next = share.offset + share.size;
      }
      EXPECT_EQ(next, bytes);
    }
  }
  EXPECT_EQ(sharers(4096, 62, 64), 62U);
  EXPECT_EQ(sharers(65536, 62, 4096), 16U) << "of 16 pages";
  EXPECT_EQ(sharers(1, 1, 64), 1U);
}

TEST_F(HostMethods, ChaseEndsWhereItsOrderSays) {
  const Flow base = chase(1 * MiB);
  const auto span = pageable_->allocate(here(), base.bytes);
  for (const char* hops : {"1", "63", "64", "1000", "5000"}) {
    Flow flow = base;
    flow.parameters.set("hops", hops);
    ASSERT_TRUE(chase_.supports(flow));
    const auto transfer = chase_.prepare(flow, {span.get(), nullptr, {}});
    EXPECT_EQ(transfer->facts().operations, std::stoull(hops));
    transfer->arm(11);
    gate_.run({{transfer.get(), 3}}, Clock::device);
    gate_.run({{transfer.get(), 1}}, Clock::device);
    const auto mismatch = transfer->verify(11);
    EXPECT_FALSE(mismatch.has_value()) << mismatch->what;
  }
}

TEST_F(HostMethods, ChaseOverDamagedPointersIsAMismatch) {
  const Flow flow = chase(64 * KiB);
  const auto span = pageable_->allocate(here(), flow.bytes);
  const auto transfer = chase_.prepare(flow, {span.get(), nullptr, {}});
  transfer->arm(1);
  gate_.run({{transfer.get(), 1}}, Clock::device);
  span->poison(0, 256);
  EXPECT_TRUE(transfer->verify(1).has_value());
}

TEST_F(HostMethods, RefusalsSayWhy) {
  Flow flow = copy(4096);
  flow.parameters.set("threads", std::to_string(cpus() + 1));
  EXPECT_NE(memcpy_.supports(flow).reason().find("CPUs"), std::string::npos);
  flow = copy(4096);
  flow.executor = {DeviceKind::gpu, 0};
  EXPECT_FALSE(memcpy_.supports(flow));
  flow = copy(4096);
  flow.source->device = {DeviceKind::gpu, 0};
  EXPECT_FALSE(memcpy_.supports(flow));
  flow = copy(4096);
  flow.parameters.set("threads", "many");
  EXPECT_THROW((void)memcpy_.supports(flow), Error);
  flow = chase(4096);
  flow.parameters.set("stride", "12");
  EXPECT_FALSE(chase_.supports(flow));
  flow = chase(100);
  EXPECT_FALSE(chase_.supports(flow));
  Endpoint nowhere = here();
  nowhere.device = numa(4711);
  EXPECT_FALSE(pageable_->supports(nowhere));
}

TEST_F(HostMethods, AbsurdRequestIsNoMemory) {
  try {
    const auto buffer = pageable_->allocate(here(), Bytes{1} << 62U);
    FAIL() << "the address space is not that large";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::no_memory);
  }
}

TEST_F(HostMethods, HugeMemorySaysWhatItGot) {
  if (const Support support = huge_->supports(here("huge")); !support) GTEST_SKIP() << support.reason();
  std::unique_ptr<Buffer> buffer;
  try {
    buffer = huge_->allocate(here("huge"), 8 * MiB);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_NE(buffer->residence().find("huge page"), std::string::npos) << buffer->residence();
  buffer->fill(0, 8 * MiB, 1);
  EXPECT_EQ(buffer->compare(0, 8 * MiB, 1), std::nullopt);
}

TEST_F(HostMethods, PagesLieWhereTheyWereTouchedFirst) {
  const auto& nodes = opened_.context->topology().nodes();
  if (nodes.size() < 2) GTEST_SKIP() << "this machine has one NUMA node";
  for (const Node& toucher : nodes) {
    Endpoint where = here();
    where.placement = Placement::first_touch;
    where.first_touch = numa(toucher.index);
    if (!pageable_->supports(where)) continue;
    PageMapping mapping(4 * MiB, Pages::system_policy);
    mapping.touch(opened_.context->workers(toucher.index), std::nullopt);
    const auto found = mapping.residence(toucher.index);
    if (!found.problem.empty()) GTEST_SKIP() << found.problem;
    EXPECT_EQ(found.share, 1.0) << "numa:" << toucher.index;
  }
}

TEST_F(HostMethods, BoundPagesLieOnTheirNodeWhoeverTouches) {
  const auto& nodes = opened_.context->topology().nodes();
  if (nodes.size() < 2) GTEST_SKIP() << "this machine has one NUMA node";
  for (const Node& node : nodes) {
    if (!opened_.context->can_hold(numa(node.index))) continue;
    PageMapping mapping(4 * MiB, Pages::system_policy);
    if (const auto refusal = mapping.bind(node.index)) GTEST_SKIP() << *refusal;
    mapping.touch(opened_.context->workers(nodes.front().index), node.index);
    const auto found = mapping.residence(node.index);
    if (!found.problem.empty()) GTEST_SKIP() << found.problem;
    EXPECT_EQ(found.share, 1.0) << "numa:" << node.index;
  }
}

TEST_F(HostMethods, DescribesTheMachine) {
  ASSERT_FALSE(opened_.backend.devices.empty());
  EXPECT_EQ(opened_.backend.name, "host");
  for (const char* key : {"kernel", "libc", "compiler"})
    EXPECT_TRUE(opened_.backend.versions.contains(key)) << key;
  std::size_t cpus = 0;
  for (const DeviceFacts& device : opened_.backend.devices) {
    EXPECT_EQ(device.id.kind, DeviceKind::numa);
    cpus += device.cpus.size();
  }
  EXPECT_GT(cpus, 0U);
}

}  // namespace
}  // namespace linkscope::host
