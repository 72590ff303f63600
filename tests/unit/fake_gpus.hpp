// A runtime of GPUs without a GPU, for what hands their memory to others' libraries.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/gpu_runtime.hpp"

namespace linkscope {

class FakeBounce final : public BounceBuffer {
 public:
  explicit FakeBounce(Bytes bytes) : memory_(bytes) {}
  [[nodiscard]] std::byte* data() const override { return memory_.data(); }
  [[nodiscard]] int load(const std::byte* /*from*/, Bytes /*bytes*/) noexcept override { return 0; }
  [[nodiscard]] int store(std::byte* /*to*/, Bytes /*bytes*/) noexcept override { return 0; }

 private:
  mutable std::vector<std::byte> memory_;
};

class FakeGpus final : public GpuRuntime {
 public:
  [[nodiscard]] int use(const DeviceId& device) noexcept override {
    used = device;
    return 0;
  }
  [[nodiscard]] std::unique_ptr<BounceBuffer> bounce(const Endpoint& /*where*/, Bytes bytes) override {
    ++bounces;
    return std::make_unique<FakeBounce>(bytes);
  }
  [[nodiscard]] Bytes rotation_bytes(const DeviceId& /*device*/) const override { return rotated; }
  [[nodiscard]] Error failure(int code) const override { return {Fault::broken, std::to_string(code)}; }

  std::optional<DeviceId> used;
  int bounces = 0;
  Bytes rotated = 3 * GiB;
};

}  // namespace linkscope
