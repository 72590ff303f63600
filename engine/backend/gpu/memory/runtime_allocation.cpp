// RuntimeAllocation: a row for each kind of memory.
#include "backend/gpu/memory/runtime_allocation.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "backend/gpu/context.hpp"
#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {
namespace {

constexpr Bytes host_page = 4096;

/// What a call is made with.
struct AllocationRequest {
  int device;
  Bytes bytes;
  gpuStream_t stream;
};

/// How one kind of memory is taken and given back.
struct AllocationKind {
  const char* memory;
  DeviceKind lies_on;
  gpuError_t (*take)(void**, const AllocationRequest&);
  gpuError_t (*give_back)(void*, const AllocationRequest&);
};

gpuError_t take_device(void** at, const AllocationRequest& request) { return gpuMalloc(at, request.bytes); }
gpuError_t take_fine(void** at, const AllocationRequest& request) {
  return vendor::allocate_fine_grained(at, request.bytes);
}
gpuError_t take_managed(void** at, const AllocationRequest& request) {
  return gpuMallocManaged(at, request.bytes, gpuMemAttachGlobal);
}
gpuError_t free_device(void* at, const AllocationRequest&) { return gpuFree(at); }

gpuError_t take_from_pool(void** at, const AllocationRequest& request) {
  return gpuMallocAsync(at, request.bytes, request.stream);
}
gpuError_t free_to_pool(void* at, const AllocationRequest& request) {
  return gpuFreeAsync(at, request.stream);
}

template <unsigned flags>
gpuError_t take_host(void** at, const AllocationRequest& request) {
  return gpuHostAlloc(at, request.bytes, gpuHostAllocPortable | gpuHostAllocMapped | flags);
}
gpuError_t free_host(void* at, const AllocationRequest&) { return gpuFreeHost(at); }

gpuError_t take_registered(void** at, const AllocationRequest& request) {
  *at = std::aligned_alloc(host_page, request.bytes);
  if (*at == nullptr) return gpuErrorMemoryAllocation;
  const gpuError_t status =
      gpuHostRegister(*at, request.bytes, gpuHostRegisterPortable | gpuHostRegisterMapped);
  if (status != gpuSuccess) std::free(*at);
  return status;
}
gpuError_t free_registered(void* at, const AllocationRequest&) {
  const gpuError_t status = gpuHostUnregister(at);
  std::free(at);
  return status;
}

gpuError_t back_range(void* at, const AllocationRequest& request) {
  vendor::VirtualHandle handle{};
  if (const gpuError_t status = vendor::virtual_create(&handle, request.bytes, request.device);
      status != gpuSuccess)
    return status;
  const gpuError_t mapped = vendor::virtual_map(at, request.bytes, handle);
  const gpuError_t released = vendor::virtual_release(handle);  // the mapping keeps the memory
  if (mapped != gpuSuccess) return mapped;
  gpuMemAccessDesc access{};
  access.location.type = gpuMemLocationTypeDevice;
  access.location.id = request.device;
  access.flags = gpuMemAccessFlagsProtReadWrite;
  const gpuError_t accessible = vendor::virtual_access(at, request.bytes, access);
  if (accessible != gpuSuccess) static_cast<void>(vendor::virtual_unmap(at, request.bytes));
  return accessible == gpuSuccess ? released : accessible;
}
gpuError_t take_virtual(void** at, const AllocationRequest& request) {
  if (const gpuError_t status = vendor::virtual_reserve(at, request.bytes); status != gpuSuccess)
    return status;
  const gpuError_t status = back_range(*at, request);
  if (status != gpuSuccess) static_cast<void>(vendor::virtual_free(*at, request.bytes));
  return status;
}
gpuError_t free_virtual(void* at, const AllocationRequest& request) {
  const gpuError_t unmapped = vendor::virtual_unmap(at, request.bytes);
  const gpuError_t freed = vendor::virtual_free(at, request.bytes);
  return unmapped != gpuSuccess ? unmapped : freed;
}

constexpr std::array<AllocationKind, 12> kinds = {{
    {"device", DeviceKind::gpu, take_device, free_device},
    {"pool", DeviceKind::gpu, take_from_pool, free_to_pool},
    {"vmm", DeviceKind::gpu, take_virtual, free_virtual},
    {"managed", DeviceKind::gpu, take_managed, free_device},
    {"managed", DeviceKind::numa, take_managed, free_device},
    {"fine-grained", DeviceKind::gpu, take_fine, free_device},
    {"coarse-grained", DeviceKind::gpu, take_device, free_device},
    {"pinned", DeviceKind::numa, take_host<0>, free_host},
    {"registered", DeviceKind::numa, take_registered, free_registered},
    {"write-combined", DeviceKind::numa, take_host<gpuHostAllocWriteCombined>, free_host},
    {"fine-grained", DeviceKind::numa, take_host<vendor::host_alloc_fine>, free_host},
    {"coarse-grained", DeviceKind::numa, take_host<vendor::host_alloc_coarse>, free_host},
}};

const AllocationKind* find_kind(const Endpoint& where) {
  const auto* const found = std::find_if(kinds.begin(), kinds.end(), [&](const AllocationKind& kind) {
    return where.memory == kind.memory && where.device.kind == kind.lies_on;
  });
  return found == kinds.end() ? nullptr : found;
}

/// What of `kind` can be asked for: whole units where its calls take nothing else.
Bytes whole_units(GpuContext& context, int device, const AllocationKind& kind, Bytes bytes) {
  std::size_t unit = 1;
  if (kind.take == take_registered) unit = host_page;
  if (kind.take == take_virtual) {
    context.use(device);
    check(vendor::virtual_granularity(&unit, device), LINKSCOPE_VIRTUAL(MemGetAllocationGranularity));
  }
  return (bytes + unit - 1) / unit * unit;
}

class RuntimeAllocation final : public host::Allocation {
 public:
  RuntimeAllocation(std::shared_ptr<GpuContext> context, int device, const AllocationKind& kind, Bytes bytes,
                    PoolKeeps keeps)
      : context_(std::move(context)),
        kind_(kind),
        request_{device, whole_units(*context_, device, kind, bytes), context_->service_stream(device)},
        keeps_(keeps) {}
  ~RuntimeAllocation() override { static_cast<void>(gpuStreamSynchronize(request_.stream)); }
  RuntimeAllocation(const RuntimeAllocation&) = delete;
  RuntimeAllocation& operator=(const RuntimeAllocation&) = delete;

  [[nodiscard]] int take(std::span<host::Block> blocks) noexcept override {
    gpuError_t status = gpuSetDevice(request_.device);
    for (std::size_t i = 0; i < blocks.size() && status == gpuSuccess; ++i) {
      void* at = nullptr;
      status = kind_.take(&at, request_);
      if (status == gpuSuccess) blocks[i] = static_cast<host::Block>(at);
    }
    return static_cast<int>(status);
  }
  [[nodiscard]] int give_back(std::span<const host::Block> blocks) noexcept override {
    gpuError_t status = gpuSetDevice(request_.device);
    for (const host::Block block : blocks) {
      const gpuError_t one = kind_.give_back(block, request_);
      if (one != gpuSuccess) status = one;
    }
    return static_cast<int>(status);
  }
  void settle() override {
    if (keeps_ == PoolKeeps::nothing) LINKSCOPE_CHECK(gpuStreamSynchronize(request_.stream));
  }
  [[nodiscard]] Error failure(int code) const override {
    return runtime_failure(code, format_bytes(request_.bytes) + " of " + kind_.memory + " memory");
  }

 protected:
  [[nodiscard]] Bytes size() const override { return request_.bytes; }

 private:
  std::shared_ptr<GpuContext> context_;
  const AllocationKind& kind_;
  AllocationRequest request_;
  PoolKeeps keeps_;
};

}  // namespace

bool runtime_allocates(const Endpoint& where) { return find_kind(where) != nullptr; }

std::unique_ptr<host::Allocation> allocate_by_runtime(std::shared_ptr<GpuContext> context, int device,
                                                      const Endpoint& where, Bytes bytes, PoolKeeps keeps) {
  return std::make_unique<RuntimeAllocation>(std::move(context), device, *find_kind(where), bytes, keeps);
}

Error runtime_failure(int code, const std::string& what) {
  const auto status = static_cast<gpuError_t>(code);
  static_cast<void>(gpuGetLastError());
  return {status == gpuErrorMemoryAllocation ? Fault::no_memory : Fault::broken,
          what + ": " + describe(status)};
}

}  // namespace linkscope::gpu
