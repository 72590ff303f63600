// Memory out of a GPU's default pool, in stream order.
#include "backend/gpu/memory/memories.hpp"

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

class PoolMemory final : public GpuMemory {
 public:
  explicit PoolMemory(std::shared_ptr<GpuContext> context)
      : GpuMemory(std::move(context),
                  {"pool", "a GPU's memory from its stream-ordered pool (cudaMallocAsync, hipMallocAsync)",
                   pool_traits}) {}

  [[nodiscard]] Support available() const override {
    if (const Support has_gpu = GpuMemory::available(); !has_gpu) return has_gpu;
    for (int device = 0; device < context().device_count(); ++device) {
      if (context().device(device).pools) return Support::yes();
    }
    return Support::no("no GPU here allocates in stream order (memoryPoolsSupported is 0)");
  }
  [[nodiscard]] Support supports(const Endpoint& where) const override {
    if (const Support lies = lies_on_gpu(where); !lies) return lies;
    if (context().device(where.device.index).pools) return Support::yes();
    return Support::no(where.device.text() +
                       " does not allocate in stream order (memoryPoolsSupported is 0)");
  }
  [[nodiscard]] std::optional<RuntimeCalls> runtime_calls(DeviceKind where) const override {
    if (where != DeviceKind::gpu) return std::nullopt;
    return RuntimeCalls{take_from_pool, free_to_pool};
  }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override {
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
};

}  // namespace

std::unique_ptr<GpuMemory> pool_memory(std::shared_ptr<GpuContext> context) {
  return std::make_unique<PoolMemory>(std::move(context));
}

}  // namespace linkscope::gpu
