// The modelled backend as a run sees it: memories, methods, gate.
#include "backend/modelled/backend.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "backend/modelled/buffer.hpp"
#include "backend/modelled/memory.hpp"
#include "backend/modelled/method.hpp"
#include "base/error.hpp"
#include "endpoints.hpp"
#include "gpu_ids.hpp"

namespace linkscope::modelled {
namespace {

constexpr Bytes big = GiB;

DeviceId numa(int index) { return {DeviceKind::numa, index}; }

/// Two GPUs joined both ways at 50 GB/s, 200 GB/s to a third, and a host node at 36.
Machine small_node() {
  Machine machine;
  machine.name = "small";
  for (int i = 0; i < 3; ++i) machine.devices.push_back({gpu(i), "GPU", 64 * GiB, 1600, 300});
  machine.devices.push_back({numa(0), "CPU", 128 * GiB, 51.2, 96});
  for (const auto& [id, rate] : std::map<std::string, double>{{"gpu:0>gpu:1", 50},
                                                              {"gpu:1>gpu:0", 50},
                                                              {"gpu:0>gpu:2", 200},
                                                              {"gpu:2>gpu:0", 200},
                                                              {"gpu:0>numa:0", 36},
                                                              {"numa:0>gpu:0", 36}}) {
    machine.links.push_back({id, rate, 100});
  }
  machine.methods["copy-engine"] = {.latency_us = 8.7, .ceiling_gbps = 50, .efficiency = 0.75};
  machine.methods["kernel-copy"] = {.latency_us = 0, .ceiling_gbps = unlimited, .efficiency = 0.8};
  machine.methods["kernel-read"] = machine.methods["kernel-write"] = machine.methods["kernel-exchange"] =
      machine.methods["kernel-copy"];
  machine.methods["memcpy"] = {.latency_us = 0.1, .ceiling_gbps = 10, .efficiency = 1};
  machine.methods["pointer-chase"] = {};
  machine.methods["stream"] = machine.methods["kernel-copy"];
  machine.methods["mpi"] =
      machine.methods["xccl"] = {.latency_us = 5, .ceiling_gbps = unlimited, .efficiency = 0.5};
  machine.methods["ping-pong"] = {.latency_us = 0.5, .ceiling_gbps = unlimited, .efficiency = 1};
  return machine;
}

/// A described node and what a run keeps of each flow.
class ModelledNode : public ::testing::Test {
 protected:
  void describe(Machine machine) { opened_ = modelled::open(std::move(machine)); }
  void SetUp() override { describe(small_node()); }

  [[nodiscard]] ModelledMethod method(const std::string& name) const {
    for (const MethodRow& row : method_rows) {
      if (row.spec.name == name) return {opened_.context, row};
    }
    throw std::out_of_range(name);
  }

  /// Allocates, prepares and arms. The flow must be supported.
  Transfer& prepare(const Flow& flow, std::uint64_t seed = 7) {
    const Support answer = method(flow.method).supports(flow);
    if (!answer) throw Error(Fault::unsupported, answer.reason());
    Arenas arenas;
    arenas.source = allocate(flow.source, flow.bytes);
    arenas.destination = allocate(flow.destination, flow.bytes);
    transfers_.push_back(method(flow.method).prepare(flow, arenas));
    transfers_.back()->arm(seed);
    return *transfers_.back();
  }

  /// Payload rate of each flow when all start together.
  std::vector<double> rates(const std::vector<Flow>& flows, std::uint64_t repeats = 1) {
    std::vector<Lane> lanes;
    for (const Flow& flow : flows) lanes.push_back({&prepare(flow), repeats});
    const auto spans = opened_.backend.gate->run(lanes, Clock::device);
    std::vector<double> rates;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      rates.push_back(gbps(flows[i].bytes * repeats, spans[i].length()));
      EXPECT_FALSE(lanes[i].transfer->verify(7)) << flows[i].method;
    }
    return rates;
  }

  Seconds seconds(const Flow& flow) {
    return opened_.backend.gate->run({{&prepare(flow)}}, Clock::device)[0].length();
  }

  OpenedMachine opened_;

 private:
  Buffer* allocate(const std::optional<Endpoint>& where, Bytes bytes) {
    if (!where) return nullptr;
    for (const MemorySpec& spec : memory_specs) {
      if (spec.name == where->memory) {
        buffers_.push_back(ModelledMemory(opened_.context, spec).allocate(*where, bytes));
        return buffers_.back().get();
      }
    }
    throw std::out_of_range(where->memory);
  }

  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<std::unique_ptr<Transfer>> transfers_;
};

Endpoint on(DeviceId device) {
  return endpoint(device, device.kind == DeviceKind::gpu ? "device" : "pinned");
}

/// From one device to another over their direct link, driven by `executor`.
Flow copy(const std::string& method, DeviceId from, DeviceId to, DeviceId executor, Bytes bytes = big) {
  Flow flow;
  flow.method = method;
  flow.source = on(from);
  flow.destination = on(to);
  flow.executor = executor;
  flow.bytes = bytes;
  if (from != to) flow.route = {from.text() + ">" + to.text()};
  return flow;
}

Flow injected(const std::string& fault) {
  Flow flow = copy("kernel-copy", gpu(0), gpu(1), gpu(0), MiB);
  flow.parameters.set("inject", fault);
  return flow;
}

TEST_F(ModelledNode, SingleFlowReachesLinkTimesEfficiencyOrItsCeiling) {
  EXPECT_NEAR(rates({copy("copy-engine", gpu(0), gpu(1), gpu(0))})[0], 37.5, 0.02);
  EXPECT_NEAR(rates({copy("copy-engine", gpu(0), gpu(2), gpu(0))})[0], 50, 0.03);
  EXPECT_NEAR(rates({copy("kernel-copy", gpu(0), gpu(2), gpu(0), 1000)})[0], 1000 / (1000 / 160.0 + 100),
              1e-6);
}

TEST_F(ModelledNode, OneDirectionIsSharedAndTheOtherIsNot) {
  const Flow there = copy("copy-engine", gpu(0), gpu(1), gpu(0));
  const auto same = rates({there, there});
  EXPECT_NEAR(same[0], 37.5 / 2, 0.01);
  EXPECT_NEAR(same[1], 37.5 / 2, 0.01);
  const auto opposite_ways = rates({there, copy("copy-engine", gpu(1), gpu(0), gpu(1))});
  EXPECT_NEAR(opposite_ways[0], 37.5, 0.02);
  EXPECT_NEAR(opposite_ways[1], 37.5, 0.02);
}

TEST_F(ModelledNode, SmallSizesTakeTheLatency) {
  EXPECT_NEAR(seconds(copy("copy-engine", gpu(0), gpu(1), gpu(0), 16)), 8.8e-6, 1e-9);
}

TEST_F(ModelledNode, MessagesHaveAnyDriverAndMayBeEmpty) {
  EXPECT_NEAR(rates({copy("mpi", gpu(0), gpu(1), gpu(0))})[0], 25, 0.01);
  EXPECT_NEAR(rates({copy("mpi", numa(0), numa(0), numa(0))})[0], 0.5 * 51.2 / 2, 0.01);
  Flow empty = copy("mpi", gpu(0), gpu(1), gpu(0), 0);
  EXPECT_EQ(method("mpi").reach(), Reach::processes);
  EXPECT_EQ(method("mpi").quantity_of(empty), Quantity::latency);
  EXPECT_NEAR(seconds(empty), 5.1e-6, 1e-12);
}

TEST_F(ModelledNode, LocalCopiesReadAndWriteOneMemory) {
  EXPECT_NEAR(rates({copy("kernel-copy", gpu(0), gpu(0), gpu(0))})[0], 0.8 * 1600 / 2, 1e-6);
}

TEST_F(ModelledNode, ReadsAndWritesTakeEachMemoryOnce) {
  Flow read = copy("kernel-read", gpu(0), gpu(0), gpu(0));
  read.destination.reset();
  Flow write = copy("kernel-write", gpu(1), gpu(1), gpu(1));
  write.source.reset();
  const auto both = rates({read, write});
  EXPECT_NEAR(both[0], 0.8 * 1600, 1e-6);
  EXPECT_NEAR(both[1], 0.8 * 1600, 1e-6);
}

TEST_F(ModelledNode, AnExchangeUsesBothDirections) {
  EXPECT_NEAR(rates({copy("kernel-exchange", gpu(0), gpu(1), gpu(0))})[0], 2 * 0.8 * 50, 0.01);
}

TEST_F(ModelledNode, MemcpyCeilingIsPerThreadUntilTheMemoryIsFull) {
  Flow flow = copy("memcpy", numa(0), numa(0), numa(0));
  EXPECT_NEAR(rates({flow})[0], 10, 1e-3);
  flow.parameters.set("threads", "2");
  EXPECT_NEAR(rates({flow})[0], 20, 1e-3);
  flow.parameters.set("threads", "64");
  EXPECT_NEAR(rates({flow})[0], 25.6, 1e-3);
  flow.figures = MethodFigures{.ceiling_gbps = 12, .settled = {"threads"}};
  EXPECT_NEAR(rates({flow})[0], 12, 1e-3);
}

TEST_F(ModelledNode, AChaseTakesItsMemoryAndEachLinkTwice) {
  Flow flow = copy("pointer-chase", gpu(1), gpu(0), gpu(0), MiB);
  flow.destination.reset();
  flow.parameters.set("hops", "1000");
  EXPECT_NEAR(seconds(flow), 1000 * (300 + 2 * 100) * 1e-9, 1e-12);
  EXPECT_EQ(prepare(flow).facts().operations, 1000U);
}

TEST_F(ModelledNode, APingPongTakesTheLinkOnce) {
  EXPECT_NEAR(seconds(copy("ping-pong", gpu(0), gpu(1), gpu(0), 8)), 0.6e-6, 1e-12);
}

TEST_F(ModelledNode, AFlowsOwnFiguresReplaceTheMachines) {
  Flow flow = copy("copy-engine", gpu(0), gpu(2), gpu(0));
  flow.figures = MethodFigures{.latency_us = 3, .ceiling_gbps = 20};
  EXPECT_NEAR(rates({flow})[0], 20, 0.01);
  flow.bytes = 16;
  EXPECT_NEAR(seconds(flow), 3.1e-6 + 16 / 20e9, 1e-10);
}

TEST_F(ModelledNode, WhatCachesServeTakesNoLinks) {
  Flow flow = copy("memcpy", numa(0), gpu(0), numa(0), 16 * KiB);
  flow.figures = MethodFigures{.latency_us = 0.02, .cached_gbps = 250};
  EXPECT_NEAR(seconds(flow), 0.02e-6 + 16.0 * KiB / 250e9, 1e-12);
}

TEST_F(ModelledNode, StreamTakesTheLinksOfBothOfItsLegsAndTellsWhatItTouches) {
  Flow there = copy("stream", gpu(2), gpu(0), gpu(0));
  Flow both = there;
  both.destination = on(gpu(2));
  Flow pushed = copy("stream", gpu(0), gpu(2), gpu(0));
  EXPECT_NEAR(rates({there})[0], 160, 0.1);
  EXPECT_NEAR(rates({both})[0], 160, 0.1);
  EXPECT_NEAR(rates({pushed})[0], 160, 0.1);
  EXPECT_NEAR(rates({both, pushed})[1], 80, 0.1);  // both store over gpu:0>gpu:2
  EXPECT_NEAR(rates({there, pushed})[1], 160, 0.1);
  EXPECT_EQ(prepare(both).facts().touched_bytes, 2 * big);
  both.parameters.set("operation", "triad");
  EXPECT_NEAR(rates({both})[0], 80, 0.1);
  EXPECT_EQ(prepare(both).facts().touched_bytes, 3 * big);
  both.parameters.set("operation", "dot");
  EXPECT_THROW(prepare(both), Error);
}

TEST_F(ModelledNode, AChaseMayHaveItsWholeTimeAsAFigureAndIsRefusedWhereALinksLatencyIsUnknown) {
  Machine machine = small_node();
  for (MachineLink& link : machine.links) link.latency_ns.reset();
  describe(machine);
  Flow flow = copy("pointer-chase", gpu(1), gpu(0), gpu(0), MiB);
  flow.destination.reset();
  const Support answer = method("pointer-chase").supports(flow);
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.reason().find("gpu:1>gpu:0"), std::string::npos);
  flow.figures = MethodFigures{.load_ns = 690};
  flow.parameters.set("hops", "10");
  EXPECT_NEAR(seconds(flow), 6.9e-6, 1e-12);
}

TEST_F(ModelledNode, ParametersThatAreNotModelledAreRefused) {
  const auto refused = [this](const std::string& name, const std::string& parameter,
                              const std::string& value) {
    Flow flow = copy(name, gpu(0), gpu(1), gpu(0), MiB);
    if (name == "pointer-chase") flow.destination.reset();
    flow.parameters.set(parameter, value);
    const Support answer = method(name).supports(flow);
    return answer ? std::string() : answer.reason();
  };
  EXPECT_EQ(refused("mpi", "staging", "host"), "the model has no staging: host");
  EXPECT_EQ(refused("mpi", "staging", "none"), "");
  EXPECT_EQ(refused("copy-engine", "until", "return"), "the model has no until: return");
  EXPECT_EQ(refused("copy-engine", "peer_access", "off"), "the model has no peer_access: off");
  EXPECT_EQ(refused("copy-engine", "call", "sync"), "");
  EXPECT_EQ(refused("pointer-chase", "stride", "4096"), "the model has no stride: 4096");
  EXPECT_EQ(refused("kernel-copy", "blocks", "12"), "");
  Flow settled = copy("mpi", gpu(0), gpu(1), gpu(0), MiB);
  settled.parameters.set("staging", "host");
  settled.figures = MethodFigures{.latency_us = 1, .settled = {"staging"}};
  EXPECT_TRUE(method("mpi").supports(settled));
}

TEST_F(ModelledNode, EveryMethodVerifiesAndNoticesOneDamagedByte) {
  for (const MethodRow& row : method_rows) {
    const DeviceId driver = row.driver == Driver::cpu ? numa(0) : gpu(0);
    Flow flow = copy(std::string(row.spec.name), driver, driver, driver, 12345);
    flow.figures = MethodFigures{.latency_us = 1};
    if (row.motion == Motion::write) flow.source.reset();
    if (row.motion == Motion::read || row.motion == Motion::chase) flow.destination.reset();
    EXPECT_TRUE(prepare(flow).verify(7)) << row.spec.name << ": verified before anything moved";
    Transfer& honest = prepare(flow);
    opened_.backend.gate->run({{&honest}}, Clock::device);
    EXPECT_FALSE(honest.verify(7)) << row.spec.name;
    EXPECT_EQ(honest.verified_bytes(), 12345U) << row.spec.name;
    flow.parameters.set("inject", "corrupt");
    Transfer& corrupt = prepare(flow);
    opened_.backend.gate->run({{&corrupt}}, Clock::device);
    EXPECT_TRUE(corrupt.verify(7)) << row.spec.name;
  }
}

TEST_F(ModelledNode, InjectedErrorsAndCrashes) {
  EXPECT_THROW(seconds(injected("error")), Error);
  EXPECT_THROW(prepare(injected("nonsense")), Error);
  EXPECT_DEATH(seconds(injected("crash")), "");
}

TEST_F(ModelledNode, LargeBuffersAreRealOnlyAtTheirBeginning) {
  Transfer& transfer = prepare(copy("kernel-copy", gpu(0), gpu(1), gpu(0), 8 * GiB));
  EXPECT_EQ(transfer.verified_bytes(), ModelledBuffer::window);
  EXPECT_TRUE(transfer.notes().empty()) << "a user's figure does not depend on it";
}

TEST_F(ModelledNode, SpansFollowOneAnotherOnOneTimeline) {
  Transfer& transfer = prepare(copy("copy-engine", gpu(0), gpu(1), gpu(0), 16));
  const Span first = opened_.backend.gate->run({{&transfer}}, Clock::device)[0];
  const Span second = opened_.backend.gate->run({{&transfer}}, Clock::device)[0];
  EXPECT_EQ(second.start, first.end);
  EXPECT_DOUBLE_EQ(second.length(), first.length());
}

TEST_F(ModelledNode, NoiseSpreadsSpansWithinItsBoundAndTheSameEveryTime) {
  const auto lengths = [this] {
    Machine machine = small_node();
    machine.noise = 0.01;
    describe(machine);
    Transfer& transfer = prepare(copy("kernel-copy", gpu(0), gpu(1), gpu(0)));
    std::vector<Seconds> drawn;
    for (int i = 0; i < 50; ++i)
      drawn.push_back(opened_.backend.gate->run({{&transfer}}, Clock::device)[0].length());
    return drawn;
  };
  const auto first = lengths();
  const auto [low, high] = std::minmax_element(first.begin(), first.end());
  const Seconds exact = static_cast<double>(big) / 40e9 + 1e-7;
  EXPECT_GT(*high, *low * 1.005);
  EXPECT_GE(*low, exact * 0.99);
  EXPECT_LE(*high, exact * 1.01);
  EXPECT_EQ(first, lengths());
}

TEST_F(ModelledNode, WhatTheDescriptionLacksIsUnsupportedWithAReason) {
  const auto reason = [this](const Flow& flow) {
    const Support answer = method(flow.method).supports(flow);
    return answer ? std::string() : answer.reason();
  };
  Flow far = copy("kernel-copy", gpu(0), gpu(7), gpu(0));
  EXPECT_NE(reason(far).find("no gpu:7"), std::string::npos);
  Flow routeless = copy("kernel-copy", gpu(0), gpu(1), gpu(0));
  routeless.route.clear();
  EXPECT_NE(reason(routeless).find("no route"), std::string::npos);
  EXPECT_NE(reason(copy("kernel-copy", gpu(1), gpu(2), gpu(1))).find("no link gpu:1>gpu:2"),
            std::string::npos);
  EXPECT_NE(reason(copy("memcpy", gpu(0), gpu(1), gpu(0))).find("not driven"), std::string::npos);
  EXPECT_NE(reason(copy("kernel-copy", gpu(1), gpu(1), gpu(0))).find("third device"), std::string::npos);
  Machine machine = small_node();
  machine.methods.erase("ping-pong");
  machine.peer_access.emplace();
  describe(machine);
  EXPECT_NE(reason(copy("ping-pong", gpu(0), gpu(1), gpu(0))).find("no figures"), std::string::npos);
  EXPECT_NE(reason(copy("kernel-copy", gpu(0), gpu(1), gpu(0))).find("no peer access"), std::string::npos);
  EXPECT_TRUE(opened_.backend.peer_access.empty());
}

TEST_F(ModelledNode, MemoriesLiveWhereTheirKindCan) {
  for (const MemorySpec& spec : memory_specs) {
    const ModelledMemory memory(opened_.context, spec);
    EXPECT_EQ(static_cast<bool>(memory.supports(on(gpu(0)))), memory.traits().home != Home::host)
        << spec.name;
    EXPECT_EQ(static_cast<bool>(memory.supports(on(numa(0)))), memory.traits().home != Home::gpu)
        << spec.name;
    EXPECT_FALSE(memory.supports(on(gpu(9)))) << spec.name;
  }
  const ModelledMemory device(opened_.context, memory_specs[5]);
  EXPECT_THROW(static_cast<void>(device.allocate(on(gpu(0)), 65 * GiB)), Error);
}

TEST(ModelledOpen, AnEmptyMachineOffersItsCatalogAndRunsNothing) {
  const OpenedMachine opened = modelled::open({});
  EXPECT_TRUE(opened.backend.devices.empty());
  const ModelledMethod method(opened.context, method_rows[1]);
  EXPECT_TRUE(method.available());
  EXPECT_FALSE(method.supports(copy("copy-engine", gpu(0), gpu(1), gpu(0))));
}

TEST(ModelledOpen, NonsenseRatesAreBadInput) {
  Machine machine = small_node();
  machine.links[0].gbps = 0;
  EXPECT_THROW(modelled::open(machine), Error);
  machine = small_node();
  machine.links.push_back(machine.links[0]);
  EXPECT_THROW(modelled::open(machine), Error);
}

}  // namespace
}  // namespace linkscope::modelled
