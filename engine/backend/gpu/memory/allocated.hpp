// AllocatedMemory: what one plain call of the runtime gives on the host or on a GPU; a row for each kind.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "backend/gpu/memory/gpu_memory.hpp"
#include "backend/gpu/vendor.hpp"

namespace linkscope::gpu {

struct AllocatedMemoryRow {
  MemorySpec spec;
  std::optional<unsigned> host_flags;                   ///< as allocate_pinned(); none: never on the host
  gpuError_t (*on_gpu)(void**, std::size_t) = nullptr;  ///< null: never on a GPU
  bool grained = false;                                 ///< its coherence is chosen, which AMD alone offers
};

inline gpuError_t allocate_plain(void** address, std::size_t bytes) { return gpuMalloc(address, bytes); }

inline constexpr AllocatedMemoryRow pinned_row{
    .spec = {"pinned", "page-locked host memory (cudaHostAlloc, hipHostMalloc)", pinned_traits},
    .host_flags = 0};
/// CPUs read it very slowly, so a GPU fills and checks it through its mapping.
inline constexpr AllocatedMemoryRow write_combined_row{
    .spec = {"write-combined", "page-locked host memory that CPU caches do not hold", write_combined_traits},
    .host_flags = gpuHostAllocWriteCombined};
inline constexpr AllocatedMemoryRow device_row{
    .spec = {"device", "a GPU's own memory (cudaMalloc, hipMalloc)", device_traits},
    .host_flags = std::nullopt,
    .on_gpu = allocate_plain};
inline constexpr AllocatedMemoryRow fine_grained_row{
    .spec = {"fine-grained", "AMD: host or GPU memory that is coherent while kernels run", grained_traits},
    .host_flags = vendor::host_alloc_fine,
    .on_gpu = vendor::allocate_fine_grained,
    .grained = true};
/// Plain device memory is coarse-grained on AMD.
inline constexpr AllocatedMemoryRow coarse_grained_row{
    .spec = {"coarse-grained", "AMD: host or GPU memory that is coherent when kernels have ended",
             grained_traits},
    .host_flags = vendor::host_alloc_coarse,
    .on_gpu = allocate_plain,
    .grained = true};

class AllocatedMemory final : public GpuMemory {
 public:
  AllocatedMemory(std::shared_ptr<GpuContext> context, const AllocatedMemoryRow& row)
      : GpuMemory(std::move(context), row.spec), row_(row) {}

  [[nodiscard]] Support available() const override;
  [[nodiscard]] Support supports(const Endpoint& where) const override;
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override;

 private:
  [[nodiscard]] bool goes_to_gpu(const Endpoint& where) const;

  AllocatedMemoryRow row_;
};

}  // namespace linkscope::gpu
