// kernel-copy: threads load from the source and store to the destination.
#pragma once

#include <memory>

#include "backend/gpu/kernel/access_method.hpp"

namespace linkscope::gpu {

/// The executor may be the source's GPU (push), the destination's (pull) or any that reaches both.
class KernelCopy final : public AccessMethod {
 public:
  using AccessMethod::AccessMethod;

  [[nodiscard]] std::string_view name() const override { return "kernel-copy"; }
  [[nodiscard]] std::string_view summary() const override {
    return "copies by a kernel that loads and stores 16 bytes per thread and instruction";
  }

 protected:
  [[nodiscard]] Ends ends() const override { return Ends::both; }
  [[nodiscard]] std::unique_ptr<Transfer> make_dense(const Flow& flow, const Arenas& arenas) const override;
};

}  // namespace linkscope::gpu
