// kernel-write: threads store the pattern.
#pragma once

#include <memory>
#include <utility>

#include "backend/gpu/kernel/access_method.hpp"

namespace linkscope::gpu {

/// Stores pattern_word of the armed seed, computed in registers: nothing is read.
class KernelWrite final : public AccessMethod {
 public:
  explicit KernelWrite(std::shared_ptr<GpuContext> context)
      : AccessMethod(std::move(context),
                     {"kernel-write", "writes by a kernel, 16 bytes per thread and instruction"}) {}

 protected:
  [[nodiscard]] Ends ends() const override { return Ends::destination; }
  [[nodiscard]] std::unique_ptr<Transfer> make_dense(const Flow& flow, const Arenas& arenas) const override;
};

}  // namespace linkscope::gpu
