// AccessMethod: what kernel-read, kernel-write and kernel-copy have in common.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "backend/gpu/gpu_method.hpp"

namespace linkscope::gpu {

/// Threads go over all of a slot, 16 bytes at a time, or access it as the flow's AccessPattern says.
class AccessMethod : public GpuMethod {
 public:
  using GpuMethod::GpuMethod;

  [[nodiscard]] Support supports(const Flow& flow) const final;
  [[nodiscard]] Bytes footprint(const Flow& flow) const final;
  /// More where accesses are apart, as rotation_spread() has it.
  [[nodiscard]] Bytes rotation_bytes(const Flow& flow) const final;

 protected:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const final;
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const final;
  /// The ends that a flow has.
  [[nodiscard]] virtual Ends ends() const = 0;
  /// As make(), where the flow asks for no pattern.
  [[nodiscard]] virtual std::unique_ptr<Transfer> make_dense(const Flow& flow,
                                                             const Arenas& arenas) const = 0;
};

}  // namespace linkscope::gpu
