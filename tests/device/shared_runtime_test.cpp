// The runtime as other backends get it: bounces carry a GPU's data through the host and back.
#include "model/gpu_runtime.hpp"

#include "open_gpus.hpp"

namespace linkscope::testing {
namespace {

class GpuSharedRuntime : public WithGpus {};

TEST_F(GpuSharedRuntime, ABounceCarriesWhatItLoadedElsewhere) {
  constexpr Bytes bytes = 1 * MiB + 12;
  const auto from = memory("device").allocate(at("device"), bytes);
  const auto to = memory("device").allocate(at("device"), bytes);
  from->fill(0, bytes, 3);
  to->poison(0, bytes);
  GpuRuntime& runtime = *backend_->gpu_runtime;
  const auto bounce = runtime.bounce(at("device"), bytes);
  ASSERT_EQ(runtime.use(gpu0), 0);
  ASSERT_EQ(bounce->load(from->data(), bytes), 0);
  ASSERT_EQ(bounce->store(to->data(), bytes), 0);
  EXPECT_EQ(to->compare(0, bytes, 3), std::nullopt);
}

TEST_F(GpuSharedRuntime, ADeviceThatIsNotThereHasACodeWithWords) {
  GpuRuntime& runtime = *backend_->gpu_runtime;
  const int code = runtime.use({DeviceKind::gpu, 4096});
  ASSERT_NE(code, 0);
  EXPECT_NE(std::string(runtime.failure(code).what()).find("(" + std::to_string(code) + ")"),
            std::string::npos);
}

}  // namespace
}  // namespace linkscope::testing
