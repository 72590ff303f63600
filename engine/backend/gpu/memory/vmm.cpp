// Physical memory of a GPU, mapped behind addresses of its own.
#include "backend/gpu/memory/memories.hpp"

#include <optional>
#include <string>

#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/device_buffer.hpp"
#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {
namespace {

/// Memory of `device` behind addresses of its own, for as long as it lives.
class Mapping {
 public:
  Mapping(GpuContext& context, int device, Bytes bytes) : context_(context), bytes_(bytes) {
    try {
      check(vendor::virtual_reserve(&address_, bytes_), LINKSCOPE_VIRTUAL(MemAddressReserve));
      back(device);
      let_in(device, PeerAccess::on);
      grant_ = context_.peers().add_grant(
          device, [this](int accessor, PeerAccess wanted) { let_in(accessor, wanted); });
    } catch (...) {
      give_back();
      throw;
    }
  }
  ~Mapping() { give_back(); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] std::byte* address() const { return static_cast<std::byte*>(address_); }

 private:
  void back(int device) {
    vendor::VirtualHandle handle{};
    check(vendor::virtual_create(&handle, bytes_, device), LINKSCOPE_VIRTUAL(MemCreate));
    const gpuError_t mapped = vendor::virtual_map(address_, bytes_, handle);
    // The mapping keeps the memory; the handle is of no more use.
    const gpuError_t released = vendor::virtual_release(handle);
    check(mapped, LINKSCOPE_VIRTUAL(MemMap));
    mapped_ = true;
    check(released, LINKSCOPE_VIRTUAL(MemRelease));
  }
  void let_in(int accessor, PeerAccess wanted) const {
    gpuMemAccessDesc access{};
    access.location.type = gpuMemLocationTypeDevice;
    access.location.id = accessor;
    access.flags = wanted == PeerAccess::on ? gpuMemAccessFlagsProtReadWrite : gpuMemAccessFlagsProtNone;
    check(vendor::virtual_access(address_, bytes_, access), LINKSCOPE_VIRTUAL(MemSetAccess));
  }
  void give_back() noexcept {
    if (grant_) context_.peers().remove_grant(*grant_);
    if (mapped_) static_cast<void>(vendor::virtual_unmap(address_, bytes_));
    if (address_ != nullptr) static_cast<void>(vendor::virtual_free(address_, bytes_));
  }

  GpuContext& context_;
  Bytes bytes_;
  void* address_ = nullptr;
  bool mapped_ = false;
  std::optional<int> grant_;
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
    auto mapping = std::make_shared<Mapping>(context(), device, (bytes + unit - 1) / unit * unit);
    std::byte* address = mapping->address();
    return device_buffer(where, bytes, address,
                         [mapping = std::move(mapping)](std::byte*) mutable { mapping.reset(); });
  }
};

}  // namespace

std::unique_ptr<GpuMemory> vmm_memory(std::shared_ptr<GpuContext> context) {
  return std::make_unique<VmmMemory>(std::move(context));
}

}  // namespace linkscope::gpu
