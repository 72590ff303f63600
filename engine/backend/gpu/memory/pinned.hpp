// pinned: page-locked host memory from the driver.
#pragma once

#include <memory>
#include <utility>

#include "backend/gpu/memory/gpu_memory.hpp"

namespace linkscope::gpu {

/// Page-locked, mapped into every GPU, its pages bound to the NUMA node asked for.
class PinnedMemory final : public GpuMemory {
 public:
  using GpuMemory::GpuMemory;

  [[nodiscard]] std::string_view name() const override { return "pinned"; }
  [[nodiscard]] std::string_view summary() const override {
    return "page-locked host memory (cudaHostAlloc, hipHostMalloc)";
  }
  [[nodiscard]] Support supports(const Endpoint& where) const override;
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override;
};

}  // namespace linkscope::gpu
