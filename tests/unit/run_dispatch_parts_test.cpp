// One name for ranks on CPUs and on GPUs.
#include <gtest/gtest.h>

#include "endpoints.hpp"
#include "run/dispatch.hpp"

namespace linkscope {
namespace {

/// Says who it is by its only part's rank.
Method ranks(int who, Quantity quantity = Quantity::bandwidth) {
  Method row{.spec = {"ranks", "for tests", quantity}};
  row.available = [who] { return who == 0 ? Support::yes() : Support::no("no GPU"); };
  row.parts = [who](const Flow& /*flow*/) {
    FlowPart part;
    part.rank = who;
    return std::vector<FlowPart>{part};
  };
  row.assemble = [](const Flow&, const std::vector<LocalPart>&) { return std::make_unique<NoParts>(); };
  return row;
}

TEST(DispatchParts, GoesByWhereTheStateIsAndWithoutAnyByTheMembers) {
  const Method both = dispatch(ranks(0), ranks(1));
  const Endpoint on_cpu = endpoint({DeviceKind::numa, 0}, "pinned");
  const Endpoint on_gpu = endpoint({DeviceKind::gpu, 0}, "device");
  Flow flow;
  flow.members = {on_cpu, on_cpu};
  EXPECT_EQ(both.parts(flow).front().rank, 0);
  EXPECT_TRUE(both.supports(flow));
  flow.state = {on_gpu, on_gpu};
  EXPECT_EQ(both.parts(flow).front().rank, 1) << "GPUs pack into the host's memory";
  ASSERT_FALSE(both.supports(flow));
  EXPECT_EQ(both.supports(flow).reason(), "no GPU");
  flow.state.clear();
  flow.members.back() = on_gpu;
  EXPECT_EQ(both.parts(flow).front().rank, 1);
  EXPECT_TRUE(both.available()) << "CPUs have it";
}

TEST(DispatchParts, RefusesTwoThatStateDifferentThings) {
  EXPECT_THROW(static_cast<void>(dispatch(ranks(0), ranks(1, Quantity::latency))), Error);
}

}  // namespace
}  // namespace linkscope
