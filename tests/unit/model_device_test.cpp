// Device names and flow parameters.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "model/device.hpp"
#include "model/flow.hpp"

namespace linkscope {
namespace {

TEST(DeviceId, ReadsWhatItWrites) {
  for (const char* text : {"gpu:0", "numa:1", "gpu:15"}) EXPECT_EQ(DeviceId::parse(text).text(), text);
  EXPECT_EQ(DeviceId::parse("gpu:3").kind, DeviceKind::gpu);
  EXPECT_EQ(DeviceId::parse("numa:3").index, 3);
}

TEST(DeviceId, RejectsAnythingElse) {
  for (const char* text :
       {"", "gpu", "gpu:", "gpu:-1", "gpu:1x", "gpu: 1", "cpu:0", "GPU:0", ":0", "gpu:99999999999"}) {
    EXPECT_THROW(static_cast<void>(DeviceId::parse(text)), Error) << text;
  }
}

TEST(Parameters, NumbersAndWords) {
  Parameters parameters;
  parameters.set("threads", "4");
  parameters.set("peer_access", "off");
  EXPECT_EQ(parameters.number("threads", 1), 4);
  EXPECT_EQ(parameters.number("hops", 7), 7);
  EXPECT_EQ(parameters.word("peer_access", "on"), "off");
  EXPECT_EQ(parameters.word("other", "on"), "on");
  EXPECT_THROW(static_cast<void>(parameters.number("peer_access", 0)), Error);
}

}  // namespace
}  // namespace linkscope
