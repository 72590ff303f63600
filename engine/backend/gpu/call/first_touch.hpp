// first-touch where a GPU has to do with it: a GPU that touches, or managed memory.
#pragma once

#include <utility>

#include "backend/gpu/call/call_method.hpp"

namespace linkscope::gpu {

/// A GPU writes fresh pageable, huge or managed blocks by a kernel; CPUs write fresh managed ones by memset (pageable
/// and huge ones are the host backend's own, see host::host_first_touch). Managed blocks are in allocations of whole 2
/// MiB, and are touched over their own bytes alone.
class GpuFirstTouch final : public CallMethod {
 public:
  explicit GpuFirstTouch(std::shared_ptr<GpuContext> context)
      : CallMethod(std::move(context), {"first-touch", "time to write a fresh allocation for the first time",
                                        Quantity::latency, first_touch_traits}) {}

  [[nodiscard]] Support supports(const Flow& flow) const override;

 private:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

}  // namespace linkscope::gpu
