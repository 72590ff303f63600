// The described node as the plan gives it.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "run/described_machine.hpp"

namespace linkscope {
namespace {

TEST(ParseMachine, ReadsDevicesLinksAndMethods) {
  const auto machine = parse_machine(Json::parse(R"({
    "name": "m", "noise": 0.01,
    "devices": [{"id": "gpu:0", "name": "G", "memory_bytes": 1024, "memory_gbps": 3000, "memory_latency_ns": 500},
                {"id": "numa:0", "memory_gbps": 200}],
    "links": [{"id": "gpu:0>numa:0", "gbps": 25.5}],
    "methods": {"copy-engine": {"latency_us": 2, "ceiling_gbps": 50}}})"));
  EXPECT_EQ(machine.name, "m");
  EXPECT_EQ(machine.devices.at(0).id.text(), "gpu:0");
  EXPECT_DOUBLE_EQ(*machine.devices.at(0).memory_latency_ns, 500);
  EXPECT_FALSE(machine.devices.at(1).memory_latency_ns);
  EXPECT_DOUBLE_EQ(machine.links.at(0).gbps, 25.5);
  EXPECT_DOUBLE_EQ(machine.methods.at("copy-engine").ceiling_gbps, 50);
  EXPECT_DOUBLE_EQ(machine.methods.at("copy-engine").efficiency, 1);
}

TEST(ParseMachine, ReadsWhatCollectivesTake) {
  const auto machine = parse_machine(Json::parse(R"({
    "name": "m", "devices": [{"id": "gpu:0", "memory_gbps": 1}, {"id": "gpu:1", "memory_gbps": 1}],
    "links": [{"id": "gpu:0>s", "gbps": 1}, {"id": "s>gpu:1", "gbps": 1}],
    "routes": [{"from": "gpu:0", "to": "gpu:1", "links": ["gpu:0>s", "s>gpu:1"]}],
    "methods": {"xccl-collective": {"step_us": 1.5}}})"));
  const std::pair<DeviceId, DeviceId> there{{DeviceKind::gpu, 0}, {DeviceKind::gpu, 1}};
  EXPECT_EQ(machine.routes.at(there), (std::vector<std::string>{"gpu:0>s", "s>gpu:1"}));
  EXPECT_EQ(machine.routes.size(), 1U);
  EXPECT_DOUBLE_EQ(machine.methods.at("xccl-collective").step_us, 1.5);
}

TEST(ParseMachine, NamesThePlaceOfAMistake) {
  try {
    static_cast<void>(
        parse_machine(Json::parse(R"({"name":"m","devices":[{"id":"gpu:0"}],"links":[],"methods":{}})")));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "machine.devices[0]: memory_gbps: is missing");
  }
}

}  // namespace
}  // namespace linkscope
