// How far these methods' slots rotate.
#include "backend/xccl/xccl_method.hpp"

#include "backend/gpu/gpu_method.hpp"
#include "backend/xccl/form.hpp"

namespace linkscope::xccl {

Bytes XcclMethod::rotation_bytes(const Flow& flow) const {
  if (Form::of(flow.parameters).graph()) return 0;
  return gpu::rotation_bytes_of(*context_->gpus(), gpus(flow));
}

}  // namespace linkscope::xccl
