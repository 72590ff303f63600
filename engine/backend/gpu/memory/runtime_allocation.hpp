// RuntimeAllocation: blocks taken and given back by a memory's calls of the runtime.
#pragma once

#include <memory>
#include <string>

#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/gpu_memory.hpp"
#include "backend/host/allocation.hpp"
#include "base/units.hpp"

namespace linkscope::gpu {

/// Says what becomes of blocks between starts that were given back to a pool.
enum class PoolKeeps {
  blocks,   ///< the next start gets them again, as in a program that allocates in a loop
  nothing,  ///< the stream is synchronised, which makes the pool (by default) give them back to the device
};

/// Blocks of memory `memory`, by `calls` on `device`; `room` is kept for as long as they live. `vmm` is a range of
/// addresses reserved, memory created, mapped and made accessible; `registered` is aligned_alloc and registration, which
/// brings the pages in.
[[nodiscard]] std::unique_ptr<host::Allocation> allocate_by_runtime(
    std::shared_ptr<GpuContext> context, int device, const RuntimeCalls& calls, std::string memory,
    Bytes bytes, PoolKeeps keeps, std::unique_ptr<const ManagedRoom> room = {});
/// The error of a runtime's code where `what` was asked for: Fault::no_memory or Fault::broken.
[[nodiscard]] Error runtime_failure(int code, const std::string& what);

}  // namespace linkscope::gpu
