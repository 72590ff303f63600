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

}  // namespace
}  // namespace linkscope
