// This backend's runtime, for backends that know no GPU.
#pragma once

#include <memory>

#include "model/gpu_runtime.hpp"

namespace linkscope::gpu {

class GpuContext;

[[nodiscard]] std::shared_ptr<GpuRuntime> shared_runtime(std::shared_ptr<GpuContext> context);

}  // namespace linkscope::gpu
