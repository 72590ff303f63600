#include "backend/gpu/memory/pool.hpp"

#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/device_buffer.hpp"
#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {
namespace {

void let_in(int owner, int accessor, PeerAccess wanted) {
  gpuMemPool_t pool = nullptr;
  LINKSCOPE_CHECK(gpuDeviceGetDefaultMemPool(&pool, owner));
  gpuMemAccessDesc access{};
  access.location.type = gpuMemLocationTypeDevice;
  access.location.id = accessor;
  access.flags = wanted == PeerAccess::on ? gpuMemAccessFlagsProtReadWrite : gpuMemAccessFlagsProtNone;
  LINKSCOPE_CHECK(gpuMemPoolSetAccess(pool, &access, 1));
}

gpuError_t take_from_pool(void** at, const AllocationRequest& request) {
  return gpuMallocAsync(at, request.bytes, request.stream);
}
gpuError_t free_to_pool(void* at, const AllocationRequest& request) {
  return gpuFreeAsync(at, request.stream);
}

}  // namespace

Support PoolMemory::available() const {
  if (const Support has_gpu = GpuMemory::available(); !has_gpu) return has_gpu;
  for (int device = 0; device < context().device_count(); ++device) {
    if (context().device(device).pools) return Support::yes();
  }
  return Support::no("no GPU here allocates in stream order (memoryPoolsSupported is 0)");
}

Support PoolMemory::supports(const Endpoint& where) const {
  if (const Support lies = lies_on_gpu(where); !lies) return lies;
  if (context().device(where.device.index).pools) return Support::yes();
  return Support::no(where.device.text() + " does not allocate in stream order (memoryPoolsSupported is 0)");
}

std::optional<RuntimeCalls> PoolMemory::runtime_calls(DeviceKind where) const {
  if (where != DeviceKind::gpu) return std::nullopt;
  return RuntimeCalls{take_from_pool, free_to_pool};
}

std::unique_ptr<Buffer> PoolMemory::allocate(const Endpoint& where, Bytes bytes) const {
  const int device = where.device.index;
  const gpuStream_t stream = context().service_stream(device);
  context().spare_managed(device, bytes);
  void* memory = nullptr;
  LINKSCOPE_CHECK(gpuMallocAsync(&memory, bytes, stream));
  LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
  // Synchronised, so that what is freed is the device's again before anything else is asked for.
  const auto give_back = [holder = shared_context(), device, stream](std::byte* address) {
    static_cast<void>(gpuSetDevice(device));
    static_cast<void>(gpuFreeAsync(address, stream));
    static_cast<void>(gpuStreamSynchronize(stream));
  };
  auto buffer = device_buffer(where, bytes, static_cast<std::byte*>(memory), give_back);
  context().peers().grant_once(
      device, [device](int accessor, PeerAccess wanted) { let_in(device, accessor, wanted); });
  return buffer;
}

}  // namespace linkscope::gpu
