// Memory of a GPU that peers reach by an access list of its own: out of the default pool, in stream order, or physical
// memory mapped behind addresses of its own.
#include "backend/gpu/memory/memories.hpp"

#include <optional>
#include <string>

#include "backend/gpu/context.hpp"
#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {
namespace {

gpuMemAccessDesc access_of(int accessor, PeerAccess wanted) {
  gpuMemAccessDesc access{};
  access.location.type = gpuMemLocationTypeDevice;
  access.location.id = accessor;
  access.flags = wanted == PeerAccess::on ? gpuMemAccessFlagsProtReadWrite : gpuMemAccessFlagsProtNone;
  return access;
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
    context().peers().grant_once(device, [device](int accessor, PeerAccess wanted) {
      gpuMemPool_t pool = nullptr;
      LINKSCOPE_CHECK(gpuDeviceGetDefaultMemPool(&pool, device));
      const gpuMemAccessDesc access = access_of(accessor, wanted);
      LINKSCOPE_CHECK(gpuMemPoolSetAccess(pool, &access, 1));
    });
    return buffer;
  }
};

/// The driver's answer, and the call that it answered.
struct MappingAnswer {
  gpuError_t status;
  const char* call;
};

MappingAnswer back_range(void* at, const AllocationRequest& request) {
  vendor::VirtualHandle handle{};
  const gpuError_t created = vendor::virtual_create(&handle, request.bytes, request.device);
  if (created != gpuSuccess) return {created, LINKSCOPE_VIRTUAL(MemCreate)};
  const gpuError_t mapped = vendor::virtual_map(at, request.bytes, handle);
  const gpuError_t released = vendor::virtual_release(handle);  // the mapping keeps the memory
  if (mapped != gpuSuccess) return {mapped, LINKSCOPE_VIRTUAL(MemMap)};
  const gpuError_t accessible =
      vendor::virtual_access(at, request.bytes, access_of(request.device, PeerAccess::on));
  if (accessible == gpuSuccess) return {released, LINKSCOPE_VIRTUAL(MemRelease)};
  static_cast<void>(vendor::virtual_unmap(at, request.bytes));
  return {accessible, LINKSCOPE_VIRTUAL(MemSetAccess)};
}

MappingAnswer take_range(void** at, const AllocationRequest& request) {
  const gpuError_t reserved = vendor::virtual_reserve(at, request.bytes);
  if (reserved != gpuSuccess) return {reserved, LINKSCOPE_VIRTUAL(MemAddressReserve)};
  const MappingAnswer backed = back_range(*at, request);
  if (backed.status != gpuSuccess) static_cast<void>(vendor::virtual_free(*at, request.bytes));
  return backed;
}

gpuError_t take_virtual(void** at, const AllocationRequest& request) {
  return take_range(at, request).status;
}
gpuError_t free_virtual(void* at, const AllocationRequest& request) {
  const gpuError_t unmapped = vendor::virtual_unmap(at, request.bytes);
  const gpuError_t freed = vendor::virtual_free(at, request.bytes);
  return unmapped != gpuSuccess ? unmapped : freed;
}

/// Memory of a device behind addresses of its own, for as long as it lives.
class Mapping {
 public:
  Mapping(GpuContext& context, const AllocationRequest& request) : context_(context), request_(request) {
    const MappingAnswer taken = take_range(&address_, request_);
    check(taken.status, taken.call);
    try {
      grant_ = context_.peers().add_grant(request_.device, [this](int accessor, PeerAccess wanted) {
        check(vendor::virtual_access(address_, request_.bytes, access_of(accessor, wanted)),
              LINKSCOPE_VIRTUAL(MemSetAccess));
      });
    } catch (...) {
      static_cast<void>(free_virtual(address_, request_));
      throw;
    }
  }
  ~Mapping() {
    context_.peers().remove_grant(grant_);
    static_cast<void>(free_virtual(address_, request_));
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] std::byte* address() const { return static_cast<std::byte*>(address_); }

 private:
  GpuContext& context_;
  AllocationRequest request_;
  void* address_ = nullptr;
  int grant_ = 0;
};

/// The unit of such memory; the driver's refusal where the device has none.
Support granularity(int device, Bytes& unit) {
  std::size_t bytes = 0;
  const gpuError_t status = vendor::virtual_granularity(&bytes, device);
  unit = bytes;
  if (status == gpuSuccess && bytes > 0) return Support::yes();
  static_cast<void>(gpuGetLastError());
  return Support::no("gpu:" + std::to_string(device) +
                     " has no virtual memory management: " + describe(status));
}

Bytes virtual_unit(int device) {
  std::size_t unit = 1;
  check(vendor::virtual_granularity(&unit, device), LINKSCOPE_VIRTUAL(MemGetAllocationGranularity));
  return unit;
}

class VmmMemory final : public GpuMemory {
 public:
  explicit VmmMemory(std::shared_ptr<GpuContext> context)
      : GpuMemory(std::move(context), {"vmm",
                                       "a GPU's memory mapped into reserved addresses "
                                       "(cuMemCreate, cuMemMap; hipMemCreate, hipMemMap)",
                                       vmm_traits}) {}

  [[nodiscard]] Support available() const override {
    if (const Support has_gpu = GpuMemory::available(); !has_gpu) return has_gpu;
    Bytes unit = 0;
    return granularity(0, unit);
  }
  [[nodiscard]] Support supports(const Endpoint& where) const override {
    if (const Support lies = lies_on_gpu(where); !lies) return lies;
    Bytes unit = 0;
    return granularity(where.device.index, unit);
  }
  [[nodiscard]] std::optional<RuntimeCalls> runtime_calls(DeviceKind where) const override {
    if (where != DeviceKind::gpu) return std::nullopt;
    return RuntimeCalls{take_virtual, free_virtual, virtual_unit};
  }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override {
    const int device = where.device.index;
    context().use(device);
    Bytes unit = 1;
    if (const Support has = granularity(device, unit); !has) throw Error(Fault::unsupported, has.reason());
    context().spare_managed(device, bytes);
    auto mapping =
        std::make_shared<Mapping>(context(), AllocationRequest{device, round_up(bytes, unit), nullptr, 0});
    std::byte* address = mapping->address();
    return device_buffer(where, bytes, address,
                         [mapping = std::move(mapping)](std::byte*) mutable { mapping.reset(); });
  }
};

}  // namespace

std::unique_ptr<GpuMemory> pool_memory(std::shared_ptr<GpuContext> context) {
  return std::make_unique<PoolMemory>(std::move(context));
}

std::unique_ptr<GpuMemory> vmm_memory(std::shared_ptr<GpuContext> context) {
  return std::make_unique<VmmMemory>(std::move(context));
}

}  // namespace linkscope::gpu
