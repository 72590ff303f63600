// One name, two implementations.
#include <gtest/gtest.h>

#include <algorithm>

#include "endpoints.hpp"
#include "fake_backend.hpp"
#include "run/binding.hpp"

namespace linkscope {
namespace {

/// A GPU's implementation that this machine cannot run.
Method unavailable() {
  Method row = fake_row();
  row.available = [] { return Support::no("no GPU"); };
  row.parameters = {integer("blocks", "many", 1, 9)};
  return row;
}

/// The row that carries `flow` out.
const Method& chosen(const Method& both, Flow flow) {
  flow.row = &both;
  return method_of(flow);
}

bool takes(const Method& method, std::string_view parameter) {
  return std::any_of(method.parameters.begin(), method.parameters.end(),
                     [&](const Parameter& row) { return row.name == parameter; });
}

TEST(Dispatch, AsksTheImplementationOfTheExecutorsKind) {
  const Method both = of_one_name(fake_row(), unavailable());
  Flow flow;
  flow.bytes = 1;
  flow.executor = DeviceId{DeviceKind::numa, 0};
  EXPECT_TRUE(chosen(both, flow).available());
  flow.executor = DeviceId{DeviceKind::gpu, 0};
  ASSERT_FALSE(chosen(both, flow).available());
  EXPECT_EQ(chosen(both, flow).available().reason(), "no GPU");
  EXPECT_TRUE(both.available()) << "CPUs have it";
  EXPECT_TRUE(takes(both, "blocks"));
  EXPECT_TRUE(takes(both, "threads"));
}

/// Takes whatever the other would not.
Method takes_all() {
  Method row = fake_row();
  row.supports = [](const Flow&) { return Support::yes(); };
  row.footprint = [](const Flow&) { return Bytes{77}; };
  return row;
}

Method takes_nothing() {
  Method row = fake_row();
  row.supports = [](const Flow&) { return Support::no("CPUs do not"); };
  return row;
}

TEST(Dispatch, GivesACpusFlowToTheGpuBackendWhereOnlyThatTakesIt) {
  Flow flow;
  flow.bytes = 1;
  flow.executor = DeviceId{DeviceKind::numa, 0};
  const Method gpu_alone = of_one_name(takes_nothing(), takes_all());
  EXPECT_TRUE(chosen(gpu_alone, flow).supports(flow));
  EXPECT_EQ(chosen(gpu_alone, flow).footprint(flow), 77U);
  const Method neither = of_one_name(takes_nothing(), takes_nothing());
  EXPECT_EQ(chosen(neither, flow).supports(flow).reason(), "CPUs do not");
  const Method no_gpu = of_one_name(takes_nothing(), unavailable());
  EXPECT_EQ(chosen(no_gpu, flow).supports(flow).reason(), "CPUs do not");
  const Method both = of_one_name(fake_row(), takes_all());
  EXPECT_NE(chosen(both, flow).footprint(flow), 77U) << "what CPUs carry out is theirs";
}

/// Says who it is by its only part's rank.
Method ranks(int who, Quantity quantity = Quantity::bandwidth) {
  Method row{.spec = {"ranks", "for tests", quantity}};
  row.available = [who] { return who == 0 ? Support::yes() : Support::no("no GPU"); };
  row.parts = [who](const Flow& /*flow*/) {
    FlowPart part;
    part.rank = who;
    return std::vector<FlowPart>{part};
  };
  row.assemble = [](const Flow&, const std::vector<LocalPart>&) { return std::make_unique<PreparedParts>(); };
  return row;
}

TEST(DispatchOfRanks, GoesByWhereTheStateIsAndWithoutAnyByTheMembers) {
  const Method both = of_one_name(ranks(0), ranks(1));
  const Endpoint on_cpu = endpoint({DeviceKind::numa, 0}, "pinned");
  const Endpoint on_gpu = endpoint({DeviceKind::gpu, 0}, "device");
  Flow flow;
  flow.members = {on_cpu, on_cpu};
  EXPECT_EQ(chosen(both, flow).parts(flow).front().rank, 0);
  flow.state = {on_gpu, on_gpu};
  EXPECT_EQ(chosen(both, flow).parts(flow).front().rank, 1) << "GPUs pack into the host's memory";
  flow.state.clear();
  flow.members.back() = on_gpu;
  EXPECT_EQ(chosen(both, flow).parts(flow).front().rank, 1);
  EXPECT_TRUE(both.available()) << "CPUs have it";
}

TEST(DispatchOfRanks, RefusesTwoThatStateDifferentThings) {
  EXPECT_THROW(static_cast<void>(of_one_name(ranks(0), ranks(1, Quantity::latency))), Error);
}

}  // namespace
}  // namespace linkscope
