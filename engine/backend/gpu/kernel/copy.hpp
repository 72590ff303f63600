// kernel-copy: threads load from the source and store to the destination.
#pragma once

#include <memory>
#include <utility>

#include "backend/gpu/kernel/access_method.hpp"

namespace linkscope::gpu {

/// The executor may be the source's GPU (push), the destination's (pull) or any that reaches both.
class KernelCopy final : public AccessMethod {
 public:
  explicit KernelCopy(std::shared_ptr<GpuContext> context)
      : AccessMethod(
            std::move(context),
            {"kernel-copy", "copies by a kernel that loads and stores 16 bytes per thread and instruction"}) {
  }

 protected:
  [[nodiscard]] Ends ends() const override { return Ends::both; }
  [[nodiscard]] std::unique_ptr<Transfer> make_dense(const Flow& flow, const Arenas& arenas) const override;
};

}  // namespace linkscope::gpu
