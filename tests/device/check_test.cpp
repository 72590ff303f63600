// What a failing call of the runtime is taken for.
#include "backend/gpu/vendor/check.hpp"

#include "open_gpus.hpp"

namespace linkscope::testing {
namespace {

class GpuChecks : public WithGpus {};

/// Faults of a call that fails for its argument.
Fault fault_of_a_bad_call() {
  try {
    LINKSCOPE_CHECK(gpuSetDevice(-1));
  } catch (const Error& error) {
    return error.fault();
  }
  return Fault::mismatch;
}

TEST_F(GpuChecks, AFailureWhileAGraphIsRecordedIsNoLostContext) {
  EXPECT_EQ(fault_of_a_bad_call(), Fault::broken);
  LINKSCOPE_CHECK(gpuSetDevice(0));
  gpuStream_t stream = nullptr;
  gpuGraph_t graph = nullptr;
  LINKSCOPE_CHECK(gpuStreamCreateWithFlags(&stream, gpuStreamNonBlocking));
  LINKSCOPE_CHECK(gpuStreamBeginCapture(stream, gpuStreamCaptureModeThreadLocal));
  EXPECT_EQ(fault_of_a_bad_call(), Fault::broken);
  EXPECT_EQ(gpuStreamEndCapture(stream, &graph), gpuSuccess) << "asking must not end the recording";
  static_cast<void>(gpuGraphDestroy(graph));
  LINKSCOPE_CHECK(gpuStreamDestroy(stream));
}

}  // namespace
}  // namespace linkscope::testing
