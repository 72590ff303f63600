// CallMethod: what the methods that time calls have in common.
#pragma once

#include <memory>
#include <utility>

#include "backend/gpu/gpu_method.hpp"

namespace linkscope::gpu {

/// A flow's executor is the GPU that is called; the calls are a CPU's (call_transfer.hpp). No memory is leased for
/// them.
class CallMethod : public GpuMethod {
 public:
  CallMethod(std::shared_ptr<GpuContext> context, const MethodSpec& spec)
      : GpuMethod(std::move(context), {spec.name, spec.summary, Quantity::latency, spec.traits}) {}

  [[nodiscard]] Bytes footprint(const Flow& /*flow*/) const final { return 0; }
  [[nodiscard]] Bytes rotation_bytes(const Flow& /*flow*/) const final { return 0; }
  /// Where the flow has no ends and its executor is a GPU here.
  [[nodiscard]] Support supports(const Flow& flow) const override;
};

}  // namespace linkscope::gpu
