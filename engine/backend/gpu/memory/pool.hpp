// pool: what the stream-ordered allocator gives.
#pragma once

#include <memory>
#include <utility>

#include "backend/gpu/memory/gpu_memory.hpp"

namespace linkscope::gpu {

/// Memory of one GPU out of its default pool. Peers reach it through the pool's own access list, which follows their
/// peer access to the device.
class PoolMemory final : public GpuMemory {
 public:
  explicit PoolMemory(std::shared_ptr<GpuContext> context)
      : GpuMemory(std::move(context),
                  {"pool", "a GPU's memory from its stream-ordered pool (cudaMallocAsync, hipMallocAsync)",
                   pool_traits}) {}

  [[nodiscard]] Support available() const override;
  [[nodiscard]] Support supports(const Endpoint& where) const override;
  [[nodiscard]] std::optional<RuntimeCalls> runtime_calls(DeviceKind where) const override;
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override;
};

}  // namespace linkscope::gpu
