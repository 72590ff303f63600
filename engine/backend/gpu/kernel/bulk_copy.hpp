// kernel-bulk-copy: a kernel that has the copy unit beside each multiprocessor (TMA) move the bytes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "backend/gpu/gpu_method.hpp"

namespace linkscope::gpu {

/// Bytes go from the source to shared memory and from there to the destination, never through registers: one thread per
/// warp keeps a ring of pieces going, so few blocks are enough. The executor may be the source's GPU (push), the
/// destination's (pull) or any that reaches both. The last bytes of a size that is no multiple of 16 are plain stores.
class KernelBulkCopy final : public GpuMethod {
 public:
  explicit KernelBulkCopy(std::shared_ptr<GpuContext> context)
      : GpuMethod(std::move(context),
                  {"kernel-bulk-copy",
                   "copies by a kernel's asynchronous bulk copies through shared memory (TMA)"}) {}

  [[nodiscard]] Support supports(const Flow& flow) const override;

 protected:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

}  // namespace linkscope::gpu
