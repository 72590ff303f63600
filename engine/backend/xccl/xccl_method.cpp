// How these methods call, and how far their slots rotate.
#include "backend/xccl/xccl_method.hpp"

#include "backend/gpu/gpu_method.hpp"
#include "backend/xccl/call_options.hpp"

namespace linkscope::xccl {

Support XcclMethod::has_form(const Flow& flow) const {
  const bool registers = CallOptions::of(flow.parameters).registered == Registered::yes;
  return registers ? context_->library().registers() : Support::yes();
}

Bytes XcclMethod::rotation_bytes(const Flow& flow) const {
  if (CallOptions::of(flow.parameters).graph()) return 0;
  return gpu::rotation_bytes_of(*context_->gpus(), gpus(flow));
}

}  // namespace linkscope::xccl
