// write-combined: page-locked host memory that CPUs write past their caches.
#pragma once

#include <memory>
#include <utility>

#include "backend/gpu/memory/gpu_memory.hpp"

namespace linkscope::gpu {

/// As pinned, but no CPU cache holds it: CPUs read it very slowly, so a GPU fills and checks it through its mapping.
class WriteCombinedMemory final : public GpuMemory {
 public:
  using GpuMemory::GpuMemory;

  [[nodiscard]] std::string_view name() const override { return "write-combined"; }
  [[nodiscard]] std::string_view summary() const override {
    return "page-locked host memory that CPU caches do not hold";
  }
  [[nodiscard]] Support supports(const Endpoint& where) const override;
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override;
};

}  // namespace linkscope::gpu
