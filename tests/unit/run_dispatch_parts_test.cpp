// One name for ranks on CPUs and on GPUs.
#include <gtest/gtest.h>

#include "endpoints.hpp"
#include "run/dispatch.hpp"

namespace linkscope {
namespace {

/// Says who it is by its only part's rank.
class FakeRanks final : public MultiPartMethod {
 public:
  FakeRanks(int who, Quantity quantity) : MultiPartMethod({"ranks", "for tests", quantity}), who_(who) {}
  [[nodiscard]] Support available() const override {
    return who_ == 0 ? Support::yes() : Support::no("no GPU");
  }
  [[nodiscard]] Support supports(const Flow& /*flow*/) const override { return Support::yes(); }
  [[nodiscard]] std::vector<FlowPart> parts(const Flow& /*flow*/) const override {
    FlowPart part;
    part.rank = who_;
    return {part};
  }

 private:
  int who_;
};

std::unique_ptr<Method> ranks(int who, Quantity quantity = Quantity::bandwidth) {
  return std::make_unique<FakeRanks>(who, quantity);
}

TEST(DispatchParts, GoesByWhereTheStateIsAndWithoutAnyByTheMembers) {
  const DispatchParts both(ranks(0), ranks(1));
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
  EXPECT_THROW(DispatchParts(ranks(0), ranks(1, Quantity::latency)), Error);
}

}  // namespace
}  // namespace linkscope
