// kernel-copy: threads load from the source and store to the destination.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "backend/gpu/gpu_method.hpp"

namespace linkscope::gpu {

/// The executor may be the source's GPU (push), the destination's (pull) or any that reaches both.
class KernelCopy final : public GpuMethod {
 public:
  using GpuMethod::GpuMethod;

  [[nodiscard]] std::string_view name() const override { return "kernel-copy"; }
  [[nodiscard]] std::string_view summary() const override {
    return "copies by a kernel that loads and stores 16 bytes per thread and instruction";
  }
  [[nodiscard]] Quantity quantity() const override { return Quantity::bandwidth; }
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] Bytes footprint(const Flow& flow) const override;

 protected:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

}  // namespace linkscope::gpu
