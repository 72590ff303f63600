// kernel-write: threads store the pattern.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "backend/gpu/gpu_method.hpp"

namespace linkscope::gpu {

/// Stores pattern_word of the armed seed, computed in registers: nothing is read.
class KernelWrite final : public GpuMethod {
 public:
  using GpuMethod::GpuMethod;

  [[nodiscard]] std::string_view name() const override { return "kernel-write"; }
  [[nodiscard]] std::string_view summary() const override {
    return "writes by a kernel, 16 bytes per thread and instruction";
  }
  [[nodiscard]] Quantity quantity() const override { return Quantity::bandwidth; }
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] Bytes footprint(const Flow& flow) const override;

 protected:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

}  // namespace linkscope::gpu
