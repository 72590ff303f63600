// AllocatedMemory: what one plain call of the runtime gives on the host or on a GPU; a row for each kind.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "backend/gpu/memory/gpu_memory.hpp"
#include "backend/gpu/vendor.hpp"

namespace linkscope::gpu {

struct AllocatedMemoryRow {
  MemorySpec spec;
  std::optional<RuntimeCalls> on_host;  ///< none: never on the host
  std::optional<RuntimeCalls> on_gpu;   ///< none: never on a GPU
  bool grained = false;                 ///< its coherence is chosen, which AMD alone offers
};

inline gpuError_t allocate_plain(void** at, const AllocationRequest& request) {
  return gpuMalloc(at, request.bytes);
}
inline gpuError_t allocate_fine(void** at, const AllocationRequest& request) {
  return vendor::allocate_fine_grained(at, request.bytes);
}
inline gpuError_t allocate_host(void** at, const AllocationRequest& request) {
  return gpuHostAlloc(at, request.bytes, gpuHostAllocPortable | gpuHostAllocMapped | request.host_flags);
}
inline gpuError_t free_host(void* at, const AllocationRequest& /*request*/) { return gpuFreeHost(at); }

/// Page-locked memory on the host, with `flags` besides.
constexpr RuntimeCalls host_calls(unsigned flags) {
  return {.take = allocate_host, .give_back = free_host, .host_flags = flags};
}

inline constexpr AllocatedMemoryRow pinned_row{
    .spec = {"pinned", "page-locked host memory (cudaHostAlloc, hipHostMalloc)", pinned_traits},
    .on_host = host_calls(0),
    .on_gpu = std::nullopt};
/// CPUs read it very slowly, so a GPU fills and checks it through its mapping.
inline constexpr AllocatedMemoryRow write_combined_row{
    .spec = {"write-combined", "page-locked host memory that CPU caches do not hold", write_combined_traits},
    .on_host = host_calls(gpuHostAllocWriteCombined),
    .on_gpu = std::nullopt};
inline constexpr AllocatedMemoryRow device_row{
    .spec = {"device", "a GPU's own memory (cudaMalloc, hipMalloc)", device_traits},
    .on_host = std::nullopt,
    .on_gpu = RuntimeCalls{allocate_plain, free_plain}};
inline constexpr AllocatedMemoryRow fine_grained_row{
    .spec = {"fine-grained", "AMD: host or GPU memory that is coherent while kernels run", grained_traits},
    .on_host = host_calls(vendor::host_alloc_fine),
    .on_gpu = RuntimeCalls{allocate_fine, free_plain},
    .grained = true};
/// Plain device memory is coarse-grained on AMD.
inline constexpr AllocatedMemoryRow coarse_grained_row{
    .spec = {"coarse-grained", "AMD: host or GPU memory that is coherent when kernels have ended",
             grained_traits},
    .on_host = host_calls(vendor::host_alloc_coarse),
    .on_gpu = RuntimeCalls{allocate_plain, free_plain},
    .grained = true};

class AllocatedMemory final : public GpuMemory {
 public:
  AllocatedMemory(std::shared_ptr<GpuContext> context, const AllocatedMemoryRow& row)
      : GpuMemory(std::move(context), row.spec), row_(row) {}

  [[nodiscard]] Support available() const override;
  [[nodiscard]] Support supports(const Endpoint& where) const override;
  [[nodiscard]] std::optional<RuntimeCalls> runtime_calls(DeviceKind where) const override {
    return where == DeviceKind::gpu ? row_.on_gpu : row_.on_host;
  }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override;

 private:
  [[nodiscard]] bool goes_to_gpu(const Endpoint& where) const;

  AllocatedMemoryRow row_;
};

}  // namespace linkscope::gpu
