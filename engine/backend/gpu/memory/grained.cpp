#include "backend/gpu/memory/grained.hpp"

#include <string>

#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/device_buffer.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "backend/host/context.hpp"
#include "backend/host/host_buffer.hpp"

namespace linkscope::gpu {

Support GrainedMemory::available() const {
  if (const Support has_gpu = GpuMemory::available(); !has_gpu) return has_gpu;
  if (vendor::has_grains) return Support::yes();
  return Support::no(std::string(name()) + " memory is AMD's: NVIDIA's has no grain");
}

Support GrainedMemory::supports(const Endpoint& where) const {
  if (const Support here = available(); !here) return here;
  return where.device.kind == DeviceKind::gpu ? lies_on_gpu(where) : can_pin(where);
}

std::unique_ptr<Buffer> GrainedMemory::allocate(const Endpoint& where, Bytes bytes) const {
  if (where.device.kind == DeviceKind::gpu) {
    const int device = where.device.index;
    context().use(device);
    context().spare_managed(device, bytes);
    void* memory = nullptr;
    if (grain_ == Grain::fine) {
      LINKSCOPE_CHECK(vendor::allocate_fine_grained(&memory, bytes));
    } else {
      LINKSCOPE_CHECK(gpuMalloc(&memory, bytes));
    }
    return device_buffer(where, bytes, static_cast<std::byte*>(memory), device_deleter(device));
  }
  const unsigned grain = grain_ == Grain::fine ? vendor::host_alloc_fine : vendor::host_alloc_coarse;
  std::byte* address = allocate_pinned(context(), where.device.index, bytes,
                                       gpuHostAllocPortable | gpuHostAllocMapped | grain);
  return std::make_unique<host::HostBuffer>(where, bytes, address, pinned_deleter(shared_context()),
                                            context().host().workers(where.device.index));
}

}  // namespace linkscope::gpu
