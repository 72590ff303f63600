// vmm: a GPU's memory mapped into reserved addresses.
#pragma once

#include <memory>
#include <utility>

#include "backend/gpu/memory/gpu_memory.hpp"

namespace linkscope::gpu {

/// Physical memory of one GPU behind a range of addresses of its own (virtual memory management). Peers reach it
/// through the mapping's own access list, which follows their peer access to the device.
class VmmMemory final : public GpuMemory {
 public:
  explicit VmmMemory(std::shared_ptr<GpuContext> context)
      : GpuMemory(std::move(context), {"vmm",
                                       "a GPU's memory mapped into reserved addresses "
                                       "(cuMemCreate, cuMemMap; hipMemCreate, hipMemMap)",
                                       vmm_traits}) {}

  [[nodiscard]] Support available() const override;
  [[nodiscard]] Support supports(const Endpoint& where) const override;
  [[nodiscard]] std::optional<RuntimeCalls> runtime_calls(DeviceKind where) const override;
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override;
};

}  // namespace linkscope::gpu
