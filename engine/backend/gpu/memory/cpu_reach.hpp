// cpu_reach: what memory of the GPUs the CPUs load and store.
#pragma once

#include "backend/gpu/context.hpp"
#include "backend/host/context.hpp"

namespace linkscope::gpu {

/// Managed memory of GPUs with concurrent access, where it is bound to a GPU only if CPUs' accesses leave it there; a
/// GPU's own memory where vendor and device map it for CPUs as well (an APU, or a GPU that CPUs are coherent with).
/// Holds no context.
[[nodiscard]] host::Reach cpu_reach(const GpuContext& context);

}  // namespace linkscope::gpu
