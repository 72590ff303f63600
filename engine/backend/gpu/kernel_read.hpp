// kernel-read: threads load, and sum what they load.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "backend/gpu/gpu_method.hpp"

namespace linkscope::gpu {

/// Verified by the exact sum, modulo 2^64, of every word read in every repeat; the expected sum is computed from the
/// pattern alone, without touching the memory.
class KernelRead final : public GpuMethod {
 public:
  using GpuMethod::GpuMethod;

  [[nodiscard]] std::string_view name() const override { return "kernel-read"; }
  [[nodiscard]] std::string_view summary() const override {
    return "reads by a kernel, 16 bytes per thread and instruction, checked by an exact sum";
  }
  [[nodiscard]] Quantity quantity() const override { return Quantity::bandwidth; }
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] Bytes footprint(const Flow& flow) const override;

 protected:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

}  // namespace linkscope::gpu
