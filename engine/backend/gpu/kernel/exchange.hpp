// kernel-exchange: one kernel that copies both ways between two buffers.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "backend/gpu/gpu_method.hpp"

namespace linkscope::gpu {

/// Alternate warps copy alternate pieces (a warp's width of 16-byte vectors) in opposite directions, as nvbandwidth's
/// bidirectional kernel does. flow.bytes are those of both ways together, and the size of each buffer: after the
/// exchange both hold the same.
class KernelExchange final : public GpuMethod {
 public:
  using GpuMethod::GpuMethod;

  [[nodiscard]] std::string_view name() const override { return "kernel-exchange"; }
  [[nodiscard]] std::string_view summary() const override {
    return "copies both ways at once by one kernel, alternate warps in opposite directions";
  }
  [[nodiscard]] Quantity quantity() const override { return Quantity::bandwidth; }
  [[nodiscard]] Support supports(const Flow& flow) const override;

 protected:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

}  // namespace linkscope::gpu
