// kernel-exchange: one kernel that copies both ways between two buffers.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "backend/gpu/gpu_method.hpp"

namespace linkscope::gpu {

/// Alternate warps copy alternate pieces (a warp's width of 16-byte vectors) in opposite directions, as nvbandwidth's
/// bidirectional kernel does. flow.bytes are those of both ways together, and the size of each buffer: after the
/// exchange both hold the same.
class KernelExchange final : public GpuMethod {
 public:
  explicit KernelExchange(std::shared_ptr<GpuContext> context)
      : GpuMethod(std::move(context),
                  {"kernel-exchange",
                   "copies both ways at once by one kernel, alternate warps in opposite directions",
                   Quantity::bandwidth, exchange_traits}) {}

  [[nodiscard]] Support supports(const Flow& flow) const override;

 protected:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

}  // namespace linkscope::gpu
