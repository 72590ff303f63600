// One name, two implementations.
#include <gtest/gtest.h>

#include "fake_backend.hpp"
#include "run/dispatch.hpp"

namespace linkscope {
namespace {

/// A GPU's implementation that this machine cannot run.
class Unavailable : public FakeMethod {
 public:
  [[nodiscard]] Support available() const override { return Support::no("no GPU"); }
  [[nodiscard]] std::map<std::string, std::string> parameters() const override {
    return {{"blocks", "many"}};
  }
};

TEST(Dispatch, AsksTheImplementationOfTheExecutorsKind) {
  const Dispatch both(std::make_unique<FakeMethod>(), std::make_unique<Unavailable>());
  Flow flow;
  flow.bytes = 1;
  flow.executor = DeviceId{DeviceKind::numa, 0};
  EXPECT_TRUE(both.supports(flow));
  flow.executor = DeviceId{DeviceKind::gpu, 0};
  ASSERT_FALSE(both.supports(flow));
  EXPECT_EQ(both.supports(flow).reason(), "no GPU");
  EXPECT_TRUE(both.available()) << "CPUs have it";
  EXPECT_TRUE(both.parameters().contains("blocks"));
  EXPECT_TRUE(both.parameters().contains("threads"));
}

/// Takes whatever the other would not.
class TakesAll : public FakeMethod {
 public:
  [[nodiscard]] Support supports(const Flow&) const override { return Support::yes(); }
  [[nodiscard]] Bytes footprint(const Flow&) const override { return 77; }
};

class TakesNothing : public FakeMethod {
 public:
  [[nodiscard]] Support supports(const Flow&) const override { return Support::no("CPUs do not"); }
};

TEST(Dispatch, GivesACpusFlowToTheGpuBackendWhereOnlyThatTakesIt) {
  Flow flow;
  flow.bytes = 1;
  flow.executor = DeviceId{DeviceKind::numa, 0};
  const Dispatch gpu_alone(std::make_unique<TakesNothing>(), std::make_unique<TakesAll>());
  EXPECT_TRUE(gpu_alone.supports(flow));
  EXPECT_EQ(gpu_alone.footprint(flow), 77U);
  const Dispatch neither(std::make_unique<TakesNothing>(), std::make_unique<TakesNothing>());
  EXPECT_EQ(neither.supports(flow).reason(), "CPUs do not");
  const Dispatch no_gpu(std::make_unique<TakesNothing>(), std::make_unique<Unavailable>());
  EXPECT_EQ(no_gpu.supports(flow).reason(), "CPUs do not");
  const Dispatch both(std::make_unique<FakeMethod>(), std::make_unique<TakesAll>());
  EXPECT_NE(both.footprint(flow), 77U) << "what CPUs carry out is theirs";
}

}  // namespace
}  // namespace linkscope
