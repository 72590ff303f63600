// Modelled collectives: every kind moves real bytes exactly, and takes the time that its blocks and steps say.
#include "backend/modelled/collective_method.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "backend/modelled/backend.hpp"
#include "backend/modelled/buffer.hpp"
#include "base/error.hpp"
#include "endpoints.hpp"
#include "gpu_ids.hpp"

namespace linkscope::modelled {
namespace {

constexpr double link_gbps = 400;
constexpr double step_us = 2;
constexpr double call_us = 1;

/// GPUs on a switch: a link of 400 GB/s each way for each, half of which a collective reaches.
Machine on_switch(int gpus) {
  Machine machine;
  machine.name = "switched";
  for (int i = 0; i < gpus; ++i) {
    const std::string name = gpu(i).text();
    machine.devices.push_back({gpu(i), "GPU", 64 * GiB, unlimited, 300});
    machine.links.push_back({name + ">switch", link_gbps, 0});
    machine.links.push_back({"switch>" + name, link_gbps, 0});
    for (int j = 0; j < gpus; ++j) {
      if (j != i) machine.routes[{gpu(i), gpu(j)}] = {name + ">switch", "switch>" + gpu(j).text()};
    }
  }
  for (const CollectiveRow& row : collective_rows)
    machine.methods[std::string(row.spec.name)] = {
        .latency_us = call_us, .step_us = step_us, .efficiency = 0.5};
  return machine;
}

Flow flow_of(const std::string& method, const std::string& kind, int gpus, Bytes bytes) {
  Flow flow;
  flow.method = method;
  flow.executor = gpu(0);
  flow.bytes = bytes;
  flow.parameters.set("collective", kind);
  for (int i = 0; i < gpus; ++i) flow.members.push_back(endpoint(gpu(i), "device"));
  return flow;
}

/// A described node and what a run keeps of one collective.
class ModelledCollectives : public ::testing::Test {
 protected:
  void describe(Machine machine) { opened_ = modelled::open(std::move(machine)); }

  [[nodiscard]] ModelledCollective method(const std::string& name) const {
    for (const CollectiveRow& row : collective_rows) {
      if (row.spec.name == name) return {opened_.context, row};
    }
    throw Error(Fault::bad_input, name);
  }

  /// Runs the collective `times` times in a row; the mean of its members' times.
  Seconds run(const Flow& flow, std::uint64_t seed = 7, int times = 1) {
    const ModelledCollective collective = method(flow.method);
    const Support answer = collective.supports(flow);
    if (!answer) throw Error(Fault::unsupported, answer.reason());
    std::vector<LocalPart> own;
    const std::vector<FlowPart> parts = collective.parts(flow);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Arenas arenas{allocate(parts[i].source, flow.bytes), allocate(parts[i].destination, flow.bytes), {}};
      arenas.rotation.stride = flow.bytes;
      own.push_back({i, arenas});
    }
    local_parts_ = collective.assemble(flow, own);
    std::vector<Lane> lanes;
    for (Transfer* transfer : local_parts_->transfers()) {
      transfer->arm(seed);
      lanes.push_back({transfer, 1});
    }
    Seconds all = 0;
    for (int i = 0; i < times; ++i) {
      all = 0;
      for (const Span& span : opened_.backend.gate->run(lanes, Clock::device)) all += span.length();
    }
    return all / static_cast<double>(lanes.size());
  }

  [[nodiscard]] std::optional<Mismatch> wrong(std::uint64_t seed = 7) const {
    for (const Transfer* transfer : local_parts_->transfers()) {
      if (auto mismatch = transfer->verify(seed)) return mismatch;
    }
    return std::nullopt;
  }

  OpenedMachine opened_;
  std::unique_ptr<PreparedParts> local_parts_;
  std::vector<std::unique_ptr<Buffer>> buffers_;

 private:
  Buffer* allocate(const std::optional<Endpoint>& where, Bytes bytes) {
    if (!where || bytes == 0) return nullptr;
    buffers_.push_back(std::make_unique<ModelledBuffer>(*where, bytes));
    return buffers_.back().get();
  }
};

/// Kind, type, in_place.
using Form = std::tuple<const char*, const char*, const char*>;

class EveryForm : public ModelledCollectives, public ::testing::WithParamInterface<Form> {};

TEST_P(EveryForm, DeliversExactlyHoweverOftenItIsRepeated) {
  describe(on_switch(4));
  const auto& [kind, type, in_place] = GetParam();
  Flow flow = flow_of("xccl-collective", kind, 4, 96 * KiB);
  flow.parameters.set("type", type);
  flow.parameters.set("in_place", in_place);
  run(flow, 11, 3);
  EXPECT_FALSE(wrong(11)) << wrong(11)->what;
}

INSTANTIATE_TEST_SUITE_P(OutOfPlace, EveryForm,
                         ::testing::Combine(::testing::Values("all-reduce", "reduce", "broadcast",
                                                              "reduce-scatter", "all-gather", "all-to-all"),
                                            ::testing::Values("float32", "float16", "bfloat16", "int32"),
                                            ::testing::Values("no")));
INSTANTIATE_TEST_SUITE_P(
    InPlace, EveryForm,
    ::testing::Combine(::testing::Values("all-reduce", "broadcast", "all-gather", "reduce", "reduce-scatter"),
                       ::testing::Values("float32", "bfloat16"), ::testing::Values("yes")));

TEST_F(ModelledCollectives, DamageIsNoticed) {
  describe(on_switch(2));
  run(flow_of("direct-collective", "all-reduce", 2, 4 * KiB));
  ASSERT_FALSE(wrong());
  *buffers_.back()->data() ^= std::byte{1};
  EXPECT_TRUE(wrong());
}

TEST_F(ModelledCollectives, WhatIsLargerThanTheRealMemoryIsCarriedOutAsFarAsThatGoes) {
  describe(on_switch(3));
  run(flow_of("xccl-collective", "all-to-all", 3, 3 * MiB));
  EXPECT_FALSE(wrong());
  const Transfer& first = *local_parts_->transfers().front();
  EXPECT_LE(first.verified_bytes(), ModelledBuffer::window);
  EXPECT_GT(first.verified_bytes(), ModelledBuffer::window - 3 * sizeof(float));
}

/// Bus bandwidth over what a link gives: large blocks fill the narrowest link on every ring and between all pairs.
TEST_F(ModelledCollectives, LargeSizesReachTheLinkTimesEfficiencyInBusBandwidth) {
  describe(on_switch(4));
  const std::map<std::string, double> factors{{"all-reduce", 1.5},  {"reduce-scatter", 0.75},
                                              {"all-gather", 0.75}, {"all-to-all", 0.75},
                                              {"broadcast", 1},     {"reduce", 1}};
  for (const char* name : {"xccl-collective", "direct-collective"}) {
    for (const auto& [kind, factor] : factors) {
      const Bytes bytes = 48 * GiB;
      const double bus = gbps(bytes, run(flow_of(name, kind, 4, bytes))) * factor;
      EXPECT_NEAR(bus, link_gbps / 2, link_gbps / 1000) << name << " " << kind;
    }
  }
}

TEST_F(ModelledCollectives, SmallSizesTakeTheirSteps) {
  describe(on_switch(4));
  const std::map<std::string, std::pair<int, int>> steps{// around a ring, in pairs
                                                         {"all-reduce", {6, 2}},
                                                         {"reduce-scatter", {3, 1}},
                                                         {"broadcast", {3, 2}},
                                                         {"all-to-all", {1, 1}}};
  for (const auto& [kind, count] : steps) {
    EXPECT_NEAR(run(flow_of("xccl-collective", kind, 4, 64)), (call_us + count.first * step_us) * 1e-6, 2e-9)
        << kind;
    EXPECT_NEAR(run(flow_of("direct-collective", kind, 4, 64)), (call_us + count.second * step_us) * 1e-6,
                2e-9)
        << kind;
  }
  EXPECT_NEAR(run(flow_of("direct-collective", "barrier", 4, 0)), (call_us + step_us) * 1e-6, 1e-12);
}

TEST_F(ModelledCollectives, ARingIsAsFastAsItsNarrowestLink) {
  Machine machine = on_switch(3);
  machine.links.front().gbps = link_gbps / 4;
  describe(std::move(machine));
  const Bytes bytes = 48 * GiB;
  EXPECT_NEAR(gbps(bytes, run(flow_of("xccl-collective", "all-gather", 3, bytes))) * 2 / 3, link_gbps / 8,
              0.1);
}

TEST_F(ModelledCollectives, WhatCannotBeIsSaid) {
  Machine machine = on_switch(3);
  machine.devices.push_back({{DeviceKind::numa, 0}, "CPU", 64 * GiB, 100, 90});
  machine.peer_access = {{gpu(0), gpu(1)}, {gpu(1), gpu(0)}};
  machine.methods.erase("mpi-collective");
  describe(std::move(machine));
  const auto reason = [&](const Flow& flow) { return method(flow.method).supports(flow).reason(); };
  EXPECT_EQ(reason(flow_of("mpi-collective", "reduce", 2, KiB)),
            "the description of switched has no figures for mpi-collective");
  EXPECT_EQ(reason(flow_of("direct-collective", "reduce", 3, 6 * KiB)), "gpu:2 has no peer access to gpu:0");
  EXPECT_TRUE(method("xccl-collective").supports(flow_of("xccl-collective", "reduce", 3, 6 * KiB)));
  EXPECT_EQ(reason(flow_of("xccl-collective", "reduce", 1, KiB)), "a collective needs two members");
  Flow host = flow_of("xccl-collective", "reduce", 2, KiB);
  host.members.back().device = {DeviceKind::numa, 0};
  EXPECT_EQ(reason(host), "xccl-collective has no member on numa:0");
  EXPECT_THROW((void)method("xccl-collective").supports(flow_of("xccl-collective", "all-gather", 2, 4)),
               Error);
}

}  // namespace
}  // namespace linkscope::modelled
