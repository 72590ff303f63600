// Causes: what of them survives a message, and what is none.
#include "comm/cause.hpp"

#include <gtest/gtest.h>

namespace linkscope {
namespace {

TEST(CausesTest, AreWhatTheyWereBehindAMessage) {
  const Causes causes{{CauseKind::gone, {1}, "rank 1 is gone"}, {CauseKind::late, {2, 300}, ""}};
  const std::string payload = packed(causes);
  EXPECT_EQ(unpacked<Causes>(payload), causes);
  EXPECT_EQ(unpacked<Causes>(payload.substr(1)), std::nullopt);
  EXPECT_EQ(unpacked<Causes>("rank 1 is gone"), std::nullopt);
  EXPECT_EQ(unpacked<Causes>(""), std::nullopt);
}

}  // namespace
}  // namespace linkscope
