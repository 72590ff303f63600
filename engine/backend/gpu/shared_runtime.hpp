// SharedRuntime: this backend's runtime, for backends that know no GPU.
#pragma once

#include <memory>

#include "model/gpu_runtime.hpp"

namespace linkscope::gpu {

class GpuContext;

class SharedRuntime final : public GpuRuntime {
 public:
  explicit SharedRuntime(std::shared_ptr<GpuContext> context) : context_(std::move(context)) {}

  [[nodiscard]] int use(const DeviceId& device) noexcept override;
  [[nodiscard]] std::unique_ptr<BounceBuffer> bounce(const Endpoint& where, Bytes bytes) override;
  [[nodiscard]] Bytes rotation_bytes(const DeviceId& device) const override;
  [[nodiscard]] Error failure(int code) const override;

 private:
  std::shared_ptr<GpuContext> context_;
};

}  // namespace linkscope::gpu
