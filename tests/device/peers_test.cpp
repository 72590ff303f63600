// Peer access is one switch for two whole devices: who holds it, and who is refused. Needs no GPU.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "backend/gpu/context.hpp"
#include "backend/host/context.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

class PeersOfAContext : public ::testing::Test {
 protected:
  [[nodiscard]] std::string refusal(int a, int b, PeerAccess wanted) {
    try {
      static_cast<void>(context_.peers().hold(a, b, wanted));
      return {};
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::unsupported);
      return error.what();
    }
  }

  GpuContext context_{std::make_shared<host::HostContext>(), 1, SyncMode::spin};
};

TEST_F(PeersOfAContext, KeepTheSwitchAsItIsHeldInEitherOrder) {
  PeerHold off = context_.peers().hold(0, 1, PeerAccess::off);
  ASSERT_NE(off, nullptr);
  EXPECT_NE(refusal(1, 0, PeerAccess::on).find("between gpu:1 and gpu:0"), std::string::npos);
  EXPECT_EQ(refusal(1, 0, PeerAccess::off), "");
  EXPECT_EQ(refusal(0, 2, PeerAccess::off), "") << "another pair";
  const PeerHold again = context_.peers().hold(1, 0, PeerAccess::off);
  off.reset();
  EXPECT_NE(refusal(0, 1, PeerAccess::on), "") << "somebody else still holds it";
}

TEST_F(PeersOfAContext, SwitchWhenNobodyHolds) {
  for (const PeerAccess wanted : {PeerAccess::on, PeerAccess::off, PeerAccess::on}) {
    const PeerHold held = context_.peers().hold(0, 1, wanted);
    EXPECT_EQ(*held, wanted);
  }
}

TEST_F(PeersOfAContext, HoldNothingOfADeviceAndItself) {
  EXPECT_EQ(context_.peers().hold(1, 1, PeerAccess::off), nullptr);
  EXPECT_TRUE(context_.peers().possible(1, 1));
}

}  // namespace
}  // namespace linkscope::gpu
