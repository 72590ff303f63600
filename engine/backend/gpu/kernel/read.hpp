// kernel-read: threads load, and sum what they load.
#pragma once

#include <memory>
#include <utility>

#include "backend/gpu/kernel/access_method.hpp"

namespace linkscope::gpu {

/// Verified by the exact sum, modulo 2^64, of every word read in every repeat; the expected sum is computed from the
/// pattern alone, without touching the memory.
class KernelRead final : public AccessMethod {
 public:
  explicit KernelRead(std::shared_ptr<GpuContext> context)
      : AccessMethod(std::move(context),
                     {"kernel-read",
                      "reads by a kernel, 16 bytes per thread and instruction, checked by an exact sum"}) {}

 protected:
  [[nodiscard]] Ends ends() const override { return Ends::source; }
  [[nodiscard]] std::unique_ptr<Transfer> make_dense(const Flow& flow, const Arenas& arenas) const override;
};

}  // namespace linkscope::gpu
