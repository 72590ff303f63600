// SharedRuntime: this backend's runtime, for backends that know no GPU.
#pragma once

#include <memory>

#include "model/gpu_runtime.hpp"

namespace linkscope::gpu {

class Context;

class SharedRuntime final : public GpuRuntime {
 public:
  explicit SharedRuntime(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  [[nodiscard]] int use(const DeviceId& device) noexcept override;
  [[nodiscard]] std::unique_ptr<Bounce> bounce(const Endpoint& where, Bytes bytes) override;
  [[nodiscard]] Error failure(int code) const override;

 private:
  std::shared_ptr<Context> context_;
};

}  // namespace linkscope::gpu
