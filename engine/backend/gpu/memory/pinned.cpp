#include "backend/gpu/memory/pinned.hpp"

#include "backend/gpu/context.hpp"
#include "backend/host/context.hpp"
#include "backend/host/host_buffer.hpp"

namespace linkscope::gpu {

Support PinnedMemory::supports(const Endpoint& where) const { return can_pin(where); }

std::unique_ptr<Buffer> PinnedMemory::allocate(const Endpoint& where, Bytes bytes) const {
  std::byte* address =
      allocate_pinned(context(), where.device.index, bytes, gpuHostAllocPortable | gpuHostAllocMapped);
  return std::make_unique<host::HostBuffer>(where, bytes, address, pinned_deleter(shared_context()),
                                            context().host().workers(where.device.index));
}

}  // namespace linkscope::gpu
