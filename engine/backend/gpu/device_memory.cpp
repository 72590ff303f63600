// device: see the header.
#include "backend/gpu/device_memory.hpp"

#include "backend/gpu/check.hpp"
#include "backend/gpu/context.hpp"
#include "backend/gpu/device_buffer.hpp"

namespace linkscope::gpu {

Support DeviceMemory::supports(const Endpoint& where) const {
  if (const Support held = context().has(where.device); !held) return held;
  if (where.placement == Placement::bound) return Support::yes();
  return Support::no("device memory does not follow who touches it: its placement is always bound");
}

std::unique_ptr<Buffer> DeviceMemory::allocate(const Endpoint& where, Bytes bytes) const {
  const int device = where.device.index;
  context().use(device);
  void* memory = nullptr;
  LINKSCOPE_CHECK(gpuMalloc(&memory, bytes));
  const auto give_back = [device](std::byte* address) {
    static_cast<void>(gpuSetDevice(device));
    static_cast<void>(gpuFree(address));
  };
  return std::make_unique<DeviceBuffer>(where, bytes, static_cast<std::byte*>(memory), give_back,
                                        shared_context(), device);
}

}  // namespace linkscope::gpu
