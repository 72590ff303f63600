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

}  // namespace
}  // namespace linkscope
