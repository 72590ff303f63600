// A runtime of GPUs without a GPU, for what hands their memory to others' libraries.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "model/gpu_runtime.hpp"

namespace linkscope {

struct FakeGpus : GpuRuntime {
  FakeGpus() {
    use = [this](const DeviceId& device) {
      used = device;
      return 0;
    };
    bounce = [this](const Endpoint& /*where*/, Bytes bytes) {
      ++bounces;
      return std::make_unique<BounceBuffer>(
          std::shared_ptr<std::byte>(new std::byte[bytes], std::default_delete<std::byte[]>()),
          [](void* /*to*/, const void* /*from*/, Bytes /*bytes*/) noexcept { return 0; });
    };
    rotation_bytes = [this](const DeviceId& /*device*/) { return rotated; };
    failure = [](int code) { return Error(Fault::broken, std::to_string(code)); };
  }

  std::optional<DeviceId> used;
  int bounces = 0;
  Bytes rotated = 3 * GiB;
};

}  // namespace linkscope
