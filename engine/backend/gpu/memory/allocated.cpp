#include "backend/gpu/memory/allocated.hpp"

#include <string>

#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/device_buffer.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "backend/host/context.hpp"
#include "backend/host/host_buffer.hpp"

namespace linkscope::gpu {

Support AllocatedMemory::available() const {
  if (const Support has_gpu = GpuMemory::available(); !has_gpu) return has_gpu;
  if (!row_.grained || vendor::has_grains) return Support::yes();
  return Support::no(std::string(name()) + " memory is AMD's: NVIDIA's has no grain");
}

Support AllocatedMemory::supports(const Endpoint& where) const {
  if (const Support here = available(); !here) return here;
  return goes_to_gpu(where) ? lies_on_gpu(where) : can_pin(where);
}

std::unique_ptr<Buffer> AllocatedMemory::allocate(const Endpoint& where, Bytes bytes) const {
  const int index = where.device.index;
  if (goes_to_gpu(where)) {
    context().use(index);
    context().spare_managed(index, bytes);
    void* memory = nullptr;
    LINKSCOPE_CHECK(row_.on_gpu->take(&memory, {index, bytes, nullptr, 0}));
    return device_buffer(where, bytes, static_cast<std::byte*>(memory), device_deleter(index));
  }
  std::byte* address = allocate_pinned(context(), index, bytes, row_.on_host->host_flags);
  auto give_back = pinned_deleter(shared_context());
  if (traits().uncached) {
    return std::make_unique<DeviceBuffer>(where, bytes, address, std::move(give_back), shared_context(),
                                          context().nearest_gpu(index));
  }
  return std::make_unique<host::HostBuffer>(where, bytes, address, std::move(give_back),
                                            context().host().workers(index));
}

bool AllocatedMemory::goes_to_gpu(const Endpoint& where) const {
  return row_.on_gpu && (where.device.kind == DeviceKind::gpu || !row_.on_host);
}

}  // namespace linkscope::gpu
