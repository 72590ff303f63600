#include "backend/gpu/memory/write_combined.hpp"

#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/device_buffer.hpp"
#include "backend/gpu/vendor.hpp"

namespace linkscope::gpu {

Support WriteCombinedMemory::supports(const Endpoint& where) const { return can_pin(where); }

std::unique_ptr<Buffer> WriteCombinedMemory::allocate(const Endpoint& where, Bytes bytes) const {
  std::byte* address = allocate_pinned(context(), where.device.index, bytes,
                                       gpuHostAllocPortable | gpuHostAllocMapped | gpuHostAllocWriteCombined);
  return std::make_unique<DeviceBuffer>(where, bytes, address, pinned_deleter(shared_context()),
                                        shared_context(), context().nearest_gpu(where.device.index));
}

}  // namespace linkscope::gpu
