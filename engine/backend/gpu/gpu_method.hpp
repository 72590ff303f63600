// GpuMethod: what the methods of this backend have in common.
#pragma once

#include <memory>
#include <utility>

#include "model/method.hpp"

namespace linkscope::gpu {

class Context;

/// Which ends a flow of the method has.
enum class Ends { source, destination, both };

/// Whether the flow goes from one GPU's memory to another's.
[[nodiscard]] bool between_gpus(const Flow& flow);

class GpuMethod : public Method {
 public:
  explicit GpuMethod(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  /// Where there is a GPU.
  [[nodiscard]] Support available() const override;
  /// Several times the largest cache between the executor and its ends: last level of GPUs and of the hosts' CPUs.
  [[nodiscard]] Bytes rotation_bytes(const Flow& flow) const override;

 protected:
  [[nodiscard]] Context& context() const { return *context_; }
  [[nodiscard]] const std::shared_ptr<Context>& shared_context() const { return context_; }
  /// Whether the flow has these ends and its executor is a GPU here.
  [[nodiscard]] Support has_ends(const Flow& flow, Ends ends) const;
  /// The same, and the executor's kernels reach every end.
  [[nodiscard]] Support kernels_reach(const Flow& flow, Ends ends) const;

 private:
  std::shared_ptr<Context> context_;
};

}  // namespace linkscope::gpu
