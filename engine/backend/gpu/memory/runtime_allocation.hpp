// RuntimeAllocation: the runtime's own calls that take and give back each kind of memory.
#pragma once

#include <memory>

#include "backend/host/allocation.hpp"
#include "base/units.hpp"
#include "model/buffer.hpp"

namespace linkscope::gpu {

class GpuContext;

/// What becomes of blocks that were given back to a pool between starts.
enum class PoolKeeps {
  blocks,   ///< the next start gets them again, as in a program that allocates in a loop
  nothing,  ///< the stream is synchronised, which makes the pool (by default) give them back to the device
};

/// Whether the runtime has calls for such memory at such a place.
[[nodiscard]] bool runtime_allocates(const Endpoint& where);
/// Blocks of that memory, by calls on `device`. `vmm` is a range of addresses reserved, memory created, mapped and made
/// accessible; `registered` is aligned_alloc and registration, which brings the pages in.
[[nodiscard]] std::unique_ptr<host::Allocation> allocate_by_runtime(std::shared_ptr<GpuContext> context,
                                                                    int device, const Endpoint& where,
                                                                    Bytes bytes,
                                                                    PoolKeeps keeps = PoolKeeps::blocks);
/// What a runtime's code means where `what` was asked for: Fault::no_memory or Fault::broken.
[[nodiscard]] Error runtime_failure(int code, const std::string& what);

}  // namespace linkscope::gpu
