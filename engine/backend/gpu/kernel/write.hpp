// kernel-write: threads store the pattern.
#pragma once

#include <memory>

#include "backend/gpu/kernel/access_method.hpp"

namespace linkscope::gpu {

/// Stores pattern_word of the armed seed, computed in registers: nothing is read.
class KernelWrite final : public AccessMethod {
 public:
  using AccessMethod::AccessMethod;

  [[nodiscard]] std::string_view name() const override { return "kernel-write"; }
  [[nodiscard]] std::string_view summary() const override {
    return "writes by a kernel, 16 bytes per thread and instruction";
  }

 protected:
  [[nodiscard]] Ends ends() const override { return Ends::destination; }
  [[nodiscard]] std::unique_ptr<Transfer> make_dense(const Flow& flow, const Arenas& arenas) const override;
};

}  // namespace linkscope::gpu
