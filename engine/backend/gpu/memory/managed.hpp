// managed: memory that migrates between host and GPU.
#pragma once

#include <memory>
#include <utility>

#include "backend/gpu/memory/gpu_memory.hpp"

namespace linkscope::gpu {

inline gpuError_t allocate_managed(void** at, const AllocationRequest& request) {
  return gpuMallocManaged(at, request.bytes, gpuMemAttachGlobal);
}
inline constexpr RuntimeCalls managed_calls{allocate_managed, free_plain};

/// Placement::bound: the system is asked to keep the pages at the endpoint's device (a preferred location; a host
/// location is also mapped into the GPUs). Placement::first_touch: the toucher decides and pages move as they
/// are used. Either may be given more advice (advice.hpp). Nothing is prefetched. All that exists beside a GPU is
/// together never more than that GPU has free, so that eviction is not measured by accident.
class ManagedMemory final : public GpuMemory {
 public:
  explicit ManagedMemory(std::shared_ptr<GpuContext> context)
      : GpuMemory(std::move(context),
                  {"managed", "memory that migrates to who uses it (cudaMallocManaged, hipMallocManaged)",
                   managed_traits}) {}

  [[nodiscard]] bool takes_advice() const override { return true; }
  [[nodiscard]] Support available() const override;
  [[nodiscard]] std::optional<RuntimeCalls> runtime_calls(DeviceKind /*where*/) const override {
    return managed_calls;
  }
  [[nodiscard]] Support supports(const Endpoint& where) const override;
  /// Not where nothing binds it: see Memory.
  [[nodiscard]] bool reusable(const Endpoint& where) const override {
    return where.placement == Placement::bound;
  }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override;
};

}  // namespace linkscope::gpu
