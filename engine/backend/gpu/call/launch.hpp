// launch: the time of one kernel launch's call.
#pragma once

#include <utility>

#include "backend/gpu/call/call_method.hpp"

namespace linkscope::gpu {

/// Of a kernel of one thread with a given number of bytes of arguments, into a stream that is not full. The kernel
/// counts its launches.
class KernelLaunch final : public CallMethod {
 public:
  explicit KernelLaunch(std::shared_ptr<GpuContext> context)
      : CallMethod(std::move(context), {"launch", "time of a kernel launch's call"}) {}

  [[nodiscard]] Support supports(const Flow& flow) const override;

 private:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

}  // namespace linkscope::gpu
