// launch: the time of one kernel launch's call.
#pragma once

#include "backend/gpu/call/call_method.hpp"

namespace linkscope::gpu {

/// Of a kernel of one thread with a given number of bytes of arguments, into a stream that is not full. The kernel counts
/// its launches.
class KernelLaunch final : public CallMethod {
 public:
  using CallMethod::CallMethod;

  [[nodiscard]] std::string_view name() const override { return "launch"; }
  [[nodiscard]] std::string_view summary() const override { return "time of a kernel launch's call"; }
  [[nodiscard]] Support supports(const Flow& flow) const override;

 private:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

}  // namespace linkscope::gpu
