// What HIP says otherwise on the host than by another prefix. Part of vendor.hpp, which alone includes it.
#pragma once

namespace linkscope::gpu::vendor {

inline constexpr const char* name = "hip";
/// True where memory of gpuMalloc has a mapping for CPUs, where the hardware lets them reach it.
inline constexpr bool maps_device_memory_for_cpus = true;
/// True where what a warp stores to a line of 128 bytes by one instruction of 16 bytes a thread arrives whole in
/// another GPU.
inline constexpr bool lines_arrive_whole = false;
inline constexpr const char* runtime_name = "HIP runtime";
inline constexpr const char* driver_name = "HIP driver";
/// The vendor's library of collectives, and what the loader knows it by.
inline constexpr const char* xccl_name = "rccl";
inline constexpr const char* xccl_library = "librccl.so.1";
/// hipBLAS numbers its types by version: its products are not called.
inline constexpr const char* blas_libraries[] = {""};
/// Hardware queues per device: fewer than streams would chain lanes that ought to run side by side.
inline constexpr const char* queues_variable = "GPU_MAX_HW_QUEUES";
inline constexpr std::size_t usual_queues = 4;
inline constexpr std::size_t most_queues = 32;
/// Nominal ticks per second of device_ticks(); the true rate is found by calibration.
inline constexpr double ticks_per_second = 1e8;

inline const char* architecture(const gpuDeviceProp_t& properties) { return properties.gcnArchName; }

/// "5.2.21153", from 50221153.
inline std::string version_text(int version) {
  return std::to_string(version / 10000000) + "." + std::to_string(version / 100000 % 100) + "." +
         std::to_string(version % 100000);
}

/// Prefers `address` to stay on GPU `device`, or in host memory where that is negative.
inline gpuError_t prefer_location(void* address, std::size_t bytes, int device) {
  return hipMemAdvise(address, bytes, hipMemAdviseSetPreferredLocation, device < 0 ? hipCpuDeviceId : device);
}

/// Asks for a mapping of `address` into GPU `device` without moving pages.
inline gpuError_t map_into(void* address, std::size_t bytes, int device) {
  return hipMemAdvise(address, bytes, hipMemAdviseSetAccessedBy, device);
}

/// Says that `address` is hardly ever written.
inline gpuError_t read_mostly(void* address, std::size_t bytes) {
  return hipMemAdvise(address, bytes, hipMemAdviseSetReadMostly, 0);
}

/// Takes that back: of pages that were copied to their readers one is left.
inline gpuError_t not_read_mostly(void* address, std::size_t bytes) {
  return hipMemAdvise(address, bytes, hipMemAdviseUnsetReadMostly, 0);
}

/// True where memory has a grain: fine is coherent while kernels run, coarse at their ends only.
inline constexpr bool has_grains = true;
inline constexpr unsigned host_alloc_fine = hipHostMallocCoherent;
inline constexpr unsigned host_alloc_coarse = hipHostMallocNonCoherent;

inline gpuError_t allocate_fine_grained(void** address, std::size_t bytes) {
  return hipExtMallocWithFlags(address, bytes, hipDeviceMallocFinegrained);
}

inline gpuError_t coarse_grained(void* address, std::size_t bytes, int device) {
  return hipMemAdvise(address, bytes, hipMemAdviseSetCoarseGrain, device < 0 ? hipCpuDeviceId : device);
}

/// Enqueues the migration of managed pages to GPU `device`, or to the host where that is negative: to NUMA node `node`
/// where that is named and can be.
inline gpuError_t prefetch(void* address, std::size_t bytes, int device, int /*node*/, gpuStream_t stream) {
  return hipMemPrefetchAsync(address, bytes, device < 0 ? hipCpuDeviceId : device, stream);
}

/// Where all of a range was last told to go: a GPU, -1 for the host, below that if not all to one place.
inline gpuError_t last_prefetch(const void* address, std::size_t bytes, int* device) {
  return hipMemRangeGetAttribute(device, sizeof *device, hipMemRangeAttributeLastPrefetchLocation, address,
                                 bytes);
}

// Virtual memory management: a range of addresses, a GPU's memory, and who may use the one through the other.
using VirtualHandle = hipMemGenericAllocationHandle_t;
#define LINKSCOPE_VIRTUAL(name) "hip" #name

inline hipMemAllocationProp virtual_properties(int device) {
  hipMemAllocationProp properties{};
  properties.type = hipMemAllocationTypePinned;
  properties.location = {hipMemLocationTypeDevice, device};
  return properties;
}

inline gpuError_t virtual_granularity(std::size_t* bytes, int device) {
  const hipMemAllocationProp properties = virtual_properties(device);
  return hipMemGetAllocationGranularity(bytes, &properties, hipMemAllocationGranularityRecommended);
}

inline gpuError_t virtual_create(VirtualHandle* handle, std::size_t bytes, int device) {
  const hipMemAllocationProp properties = virtual_properties(device);
  return hipMemCreate(handle, bytes, &properties, 0);
}

inline gpuError_t virtual_release(VirtualHandle handle) { return hipMemRelease(handle); }

inline gpuError_t virtual_reserve(void** address, std::size_t bytes) {
  return hipMemAddressReserve(address, bytes, 0, nullptr, 0);
}

inline gpuError_t virtual_map(void* address, std::size_t bytes, VirtualHandle handle) {
  return hipMemMap(address, bytes, 0, handle, 0);
}

inline gpuError_t virtual_access(void* address, std::size_t bytes, const gpuMemAccessDesc& access) {
  return hipMemSetAccess(address, bytes, &access, 1);
}

inline gpuError_t virtual_unmap(void* address, std::size_t bytes) { return hipMemUnmap(address, bytes); }

inline gpuError_t virtual_free(void* address, std::size_t bytes) { return hipMemAddressFree(address, bytes); }

/// Where the allocation begins that holds `address`, and how long it is.
inline gpuError_t allocation_of(void* address, void** base, std::size_t* bytes) {
  return hipMemGetAddressRange(base, bytes, address);
}

/// Puts what a graph needs onto the device before its first launch.
inline gpuError_t upload_graph(gpuGraphExec_t, gpuStream_t) {
  return gpuSuccess;
}  // HIP does so on instantiation

/// Why kernel_of() cannot succeed; empty where it can.
inline std::string no_kernel_names() { return "HIP does not name the kernels of a graph"; }

inline gpuError_t kernel_of(gpuGraphNode_t, const char**, unsigned int*) { return hipErrorNotSupported; }

/// A region from one GPU's memory to another's.
inline gpuError_t copy_3d_between(const gpuMemcpy3DParms& region, int /*source*/, int /*destination*/,
                                  gpuStream_t stream) {
  return hipMemcpy3DAsync(&region, stream);
}

/// Says whether the switches between GPUs multicast for `device`, as its driver reports; nothing where it does not
/// tell.
inline std::optional<bool> multicast(int /*device*/) { return std::nullopt; }

/// Why a batch of copies cannot be one call; empty where it can.
inline std::string no_batch() { return "HIP has no call for a batch of copies"; }

inline gpuError_t copy_batch(void**, void**, std::size_t*, std::size_t, ReadOrder, gpuStream_t) {
  return hipErrorNotSupported;
}

/// Why `kernel` cannot copy in bulk on `device`, which is current; empty where it can.
inline std::string no_bulk_copy(int /*device*/, const void* /*kernel*/) {
  return "AMD GPUs have no unit for bulk copies between global and shared memory (TMA)";
}

/// Why `kernel` cannot be launched with Start::programmatic on `device`, which is current; empty where it can.
inline std::string no_programmatic_start(int /*device*/, const void* /*kernel*/) {
  return "HIP has no programmatic dependent launches";
}

/// Without dynamic shared memory. `start`: see no_programmatic_start.
inline gpuError_t launch_kernel(const void* kernel, dim3 blocks, dim3 threads, void** arguments,
                                gpuStream_t stream, Start /*start*/) {
  return hipLaunchKernel(kernel, blocks, threads, arguments, 0, stream);
}

}  // namespace linkscope::gpu::vendor
