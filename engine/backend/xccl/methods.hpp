// The methods by NCCL or RCCL, and the memory that it allocates.
#pragma once

#include <memory>

#include "backend/gpu/memory/gpu_memory.hpp"
#include "backend/xccl/context.hpp"
#include "model/method.hpp"

namespace linkscope::xccl {

/// xccl: messages from GPU to GPU by send and receive. A flow is two parts, both timed: the source's send and the
/// destination's receive.
[[nodiscard]] Method xccl_message(const std::shared_ptr<XcclContext>& context);
/// xccl-collective. Members are GPUs of one process or of several, each with its memory.
[[nodiscard]] Method xccl_collective(const std::shared_ptr<XcclContext>& context);
/// xccl: memory of one GPU from ncclMemAlloc.
[[nodiscard]] std::unique_ptr<gpu::GpuMemory> xccl_memory(std::shared_ptr<XcclContext> context);

}  // namespace linkscope::xccl
