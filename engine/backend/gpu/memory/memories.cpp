// Memory that one plain call of the runtime gives, a row for each kind; and the list of all memories.
#include "backend/gpu/memory/memories.hpp"

#include <optional>
#include <string>

#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/device_buffer.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "backend/host/context.hpp"
#include "backend/host/host_buffer.hpp"

namespace linkscope::gpu {
namespace {

struct PlainMemoryRow {
  MemorySpec spec;
  std::optional<RuntimeCalls> on_host;  ///< none: never on the host
  std::optional<RuntimeCalls> on_gpu;   ///< none: never on a GPU
  bool grained = false;                 ///< its coherence is chosen, which AMD alone offers
};

gpuError_t allocate_plain(void** at, const AllocationRequest& request) {
  return gpuMalloc(at, request.bytes);
}
gpuError_t allocate_fine(void** at, const AllocationRequest& request) {
  return vendor::allocate_fine_grained(at, request.bytes);
}
gpuError_t allocate_host(void** at, const AllocationRequest& request) {
  return gpuHostAlloc(at, request.bytes, gpuHostAllocPortable | gpuHostAllocMapped | request.host_flags);
}
gpuError_t free_host(void* at, const AllocationRequest& /*request*/) { return gpuFreeHost(at); }

/// Page-locked memory on the host, with `flags` besides.
constexpr RuntimeCalls host_calls(unsigned flags) {
  return {.take = allocate_host, .give_back = free_host, .host_flags = flags};
}

constexpr PlainMemoryRow pinned_row{
    .spec = {"pinned", "page-locked host memory (cudaHostAlloc, hipHostMalloc)", pinned_traits},
    .on_host = host_calls(0),
    .on_gpu = {}};
/// CPUs read it very slowly, so a GPU fills and checks it through its mapping.
constexpr PlainMemoryRow write_combined_row{
    .spec = {"write-combined", "page-locked host memory that CPU caches do not hold", write_combined_traits},
    .on_host = host_calls(gpuHostAllocWriteCombined),
    .on_gpu = {}};
constexpr PlainMemoryRow device_row{
    .spec = {"device", "a GPU's own memory (cudaMalloc, hipMalloc)", device_traits},
    .on_host = {},
    .on_gpu = RuntimeCalls{allocate_plain, free_plain}};
constexpr PlainMemoryRow fine_grained_row{
    .spec = {"fine-grained", "AMD: host or GPU memory that is coherent while kernels run", grained_traits},
    .on_host = host_calls(vendor::host_alloc_fine),
    .on_gpu = RuntimeCalls{allocate_fine, free_plain},
    .grained = true};
/// Plain device memory is coarse-grained on AMD.
constexpr PlainMemoryRow coarse_grained_row{
    .spec = {"coarse-grained", "AMD: host or GPU memory that is coherent when kernels have ended",
             grained_traits},
    .on_host = host_calls(vendor::host_alloc_coarse),
    .on_gpu = RuntimeCalls{allocate_plain, free_plain},
    .grained = true};

class PlainMemory final : public GpuMemory {
 public:
  PlainMemory(std::shared_ptr<GpuContext> context, const PlainMemoryRow& row)
      : GpuMemory(std::move(context), row.spec), row_(row) {}

  [[nodiscard]] Support available() const override {
    if (const Support has_gpu = GpuMemory::available(); !has_gpu) return has_gpu;
    if (!row_.grained || vendor::has_grains) return Support::yes();
    return Support::no(std::string(name()) + " memory is AMD's: NVIDIA's has no grain");
  }
  [[nodiscard]] Support supports(const Endpoint& where) const override {
    if (const Support here = available(); !here) return here;
    return goes_to_gpu(where) ? lies_on_gpu(where) : can_pin(where);
  }
  [[nodiscard]] std::optional<RuntimeCalls> runtime_calls(DeviceKind where) const override {
    return where == DeviceKind::gpu ? row_.on_gpu : row_.on_host;
  }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override {
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

 private:
  [[nodiscard]] bool goes_to_gpu(const Endpoint& where) const {
    return row_.on_gpu && (where.device.kind == DeviceKind::gpu || !row_.on_host);
  }

  PlainMemoryRow row_;
};

}  // namespace

std::unique_ptr<GpuMemory> device_memory(std::shared_ptr<GpuContext> context) {
  return std::make_unique<PlainMemory>(std::move(context), device_row);
}

std::unique_ptr<GpuMemory> fine_grained_memory(std::shared_ptr<GpuContext> context) {
  return std::make_unique<PlainMemory>(std::move(context), fine_grained_row);
}

std::vector<std::unique_ptr<GpuMemory>> gpu_memories(const std::shared_ptr<GpuContext>& context) {
  std::vector<std::unique_ptr<GpuMemory>> all;
  all.push_back(std::make_unique<PlainMemory>(context, pinned_row));
  all.push_back(registered_memory(context));
  all.push_back(std::make_unique<PlainMemory>(context, write_combined_row));
  all.push_back(device_memory(context));
  all.push_back(managed_memory(context));
  all.push_back(pool_memory(context));
  all.push_back(vmm_memory(context));
  all.push_back(fine_grained_memory(context));
  all.push_back(std::make_unique<PlainMemory>(context, coarse_grained_row));
  return all;
}

}  // namespace linkscope::gpu
