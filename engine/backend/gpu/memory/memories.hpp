// The memories of this backend, for the catalog and for what the backend itself needs.
#pragma once

#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "backend/gpu/memory/gpu_memory.hpp"

namespace linkscope::host {
enum class Pages;
}

namespace linkscope::gpu {

/// All memories that a GPU driver gives, in the catalog's order.
std::vector<std::unique_ptr<GpuMemory>> gpu_memories(const std::shared_ptr<GpuContext>& context);

/// A GPU's own memory, by the runtime's plain call.
std::unique_ptr<GpuMemory> device_memory(std::shared_ptr<GpuContext> context);
/// AMD's memory that is coherent while kernels run.
std::unique_ptr<GpuMemory> fine_grained_memory(std::shared_ptr<GpuContext> context);

/// A library gets such memory where it pins what its caller allocated.
std::unique_ptr<GpuMemory> registered_memory(std::shared_ptr<GpuContext> context);

/// Placement::bound: the system is asked to keep the pages at the endpoint's device (a preferred location; a host
/// location is also mapped into the GPUs). Placement::first_touch: the toucher decides and pages move as they are used.
/// Either may be given more advice. Nothing is prefetched. All that exists beside a GPU is together never
/// more than that GPU has free, so that eviction is not measured by accident.
std::unique_ptr<GpuMemory> managed_memory(std::shared_ptr<GpuContext> context);
inline gpuError_t allocate_managed(void** at, const AllocationRequest& request) {
  return gpuMallocManaged(at, request.bytes, gpuMemAttachGlobal);
}
inline constexpr RuntimeCalls managed_calls{allocate_managed, free_plain};

/// What an endpoint asks the driver to expect of managed memory.
enum class Advice {
  preferred_location,  ///< the pages are to stay at the endpoint's device
  accessed_by,         ///< every processor maps the pages where they are, rather than fault and fetch them
  read_mostly,         ///< hardly ever written: readers may hold copies
  coarse_grained,      ///< AMD: coherent at the ends of kernels only
};
/// "read-mostly+accessed-by" -> the two; nothing of an empty text. Throws Error{bad_input} for an unknown word.
[[nodiscard]] std::set<Advice> parse_advice(std::string_view text);

/// Memory of one GPU out of its default pool. Peers reach it through the pool's own access list, which follows their
/// peer access to the device.
std::unique_ptr<GpuMemory> pool_memory(std::shared_ptr<GpuContext> context);

/// Physical memory of one GPU behind a range of addresses of its own (virtual memory management). Peers reach it
/// through the mapping's own access list, which follows their peer access to the device.
std::unique_ptr<GpuMemory> vmm_memory(std::shared_ptr<GpuContext> context);

/// Stands for the host's memory of the same name. Placement::first_touch by a GPU asks that its kernels can load and
/// store the system's memory; pages are then where the system puts what that GPU touches. All else is the host's.
/// `pages` are `on_host`'s own, from no pool of huge pages, which GPUs may not fault on.
std::unique_ptr<GpuMemory> system_memory(std::shared_ptr<GpuContext> context, std::unique_ptr<Memory> on_host,
                                         host::Pages pages);

}  // namespace linkscope::gpu
