// xccl: what NCCL's or RCCL's own allocator gives.
#pragma once

#include <memory>

#include "backend/gpu/memory/gpu_memory.hpp"
#include "backend/xccl/context.hpp"

namespace linkscope::xccl {

/// Memory of one GPU from ncclMemAlloc. Calls recorded into graphs may work on it in place, where they would go through
/// buffers of the library's on other memory. The library maps it for every peer of its GPU, whatever their peer access.
class XcclMemory final : public gpu::GpuMemory {
 public:
  explicit XcclMemory(std::shared_ptr<XcclContext> context);

  [[nodiscard]] Support available() const override;
  [[nodiscard]] Support supports(const Endpoint& where) const override;
  /// Not where peers are to be kept out.
  [[nodiscard]] Support allows(const Flow& flow) const override;
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override;

 private:
  std::shared_ptr<XcclContext> xccl_;
};

}  // namespace linkscope::xccl
