#include "backend/gpu/memory/device.hpp"

#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/device_buffer.hpp"
#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {

Support DeviceMemory::supports(const Endpoint& where) const { return lies_on_gpu(where); }

std::unique_ptr<Buffer> DeviceMemory::allocate(const Endpoint& where, Bytes bytes) const {
  const int device = where.device.index;
  context().use(device);
  context().spare_managed(device, bytes);
  void* memory = nullptr;
  LINKSCOPE_CHECK(gpuMalloc(&memory, bytes));
  return device_buffer(where, bytes, static_cast<std::byte*>(memory), device_deleter(device));
}

}  // namespace linkscope::gpu
