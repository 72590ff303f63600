// registered: ordinary pages, page-locked afterwards.
#pragma once

#include <memory>
#include <utility>

#include "backend/gpu/memory/gpu_memory.hpp"

namespace linkscope::gpu {

/// What a library gets that pins memory its caller allocated.
class RegisteredMemory final : public GpuMemory {
 public:
  explicit RegisteredMemory(std::shared_ptr<GpuContext> context)
      : GpuMemory(std::move(context),
                  {"registered", "ordinary pages, page-locked afterwards (cudaHostRegister, hipHostRegister)",
                   registered_traits}) {}

  [[nodiscard]] Support supports(const Endpoint& where) const override;
  [[nodiscard]] std::optional<RuntimeCalls> runtime_calls(DeviceKind where) const override;
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override;
};

}  // namespace linkscope::gpu
