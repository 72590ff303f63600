// device: what cudaMalloc or hipMalloc gives.
#pragma once

#include <memory>
#include <utility>

#include "backend/gpu/memory/gpu_memory.hpp"

namespace linkscope::gpu {

/// Memory of one GPU.
class DeviceMemory final : public GpuMemory {
 public:
  using GpuMemory::GpuMemory;

  [[nodiscard]] std::string_view name() const override { return "device"; }
  [[nodiscard]] std::string_view summary() const override {
    return "a GPU's own memory (cudaMalloc, hipMalloc)";
  }
  [[nodiscard]] Support supports(const Endpoint& where) const override;
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override;
};

}  // namespace linkscope::gpu
