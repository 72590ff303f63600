// What CUDA says otherwise on the host than by another prefix. Part of vendor.hpp, which alone includes it.
// The contracts stand in hip.hpp.
#pragma once

namespace linkscope::gpu::vendor {

inline constexpr const char* name = "cuda";
inline constexpr bool maps_device_memory_for_cpus = false;
inline constexpr bool lines_arrive_whole = true;
inline constexpr const char* runtime_name = "CUDA runtime";
inline constexpr const char* driver_name = "CUDA driver";
inline constexpr const char* xccl_name = "nccl";
inline constexpr const char* xccl_library = "libnccl.so.2";
/// The library of matrix products, by the names that the loader knows it by, newest first.
inline constexpr const char* blas_libraries[] = {"libcublas.so.13", "libcublas.so.12"};
inline constexpr const char* queues_variable = "CUDA_DEVICE_MAX_CONNECTIONS";
inline constexpr std::size_t usual_queues = 8;
inline constexpr std::size_t most_queues = 32;
inline constexpr double ticks_per_second = 1e9;

inline const char* architecture(const gpuDeviceProp_t&) { return ""; }

/// "13.0", from 13000.
inline std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

inline gpuError_t advise(void* address, std::size_t bytes, cudaMemoryAdvise advice, int device) {
#if CUDART_VERSION >= 13000
  cudaMemLocation location{};
  location.type = device < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  location.id = device < 0 ? 0 : device;
  return cudaMemAdvise(address, bytes, advice, location);
#else
  return cudaMemAdvise(address, bytes, advice, device < 0 ? cudaCpuDeviceId : device);
#endif
}

inline gpuError_t prefer_location(void* address, std::size_t bytes, int device) {
  return advise(address, bytes, cudaMemAdviseSetPreferredLocation, device);
}

inline gpuError_t map_into(void* address, std::size_t bytes, int device) {
  return advise(address, bytes, cudaMemAdviseSetAccessedBy, device);
}

inline gpuError_t read_mostly(void* address, std::size_t bytes) {
  return advise(address, bytes, cudaMemAdviseSetReadMostly, 0);
}

inline gpuError_t not_read_mostly(void* address, std::size_t bytes) {
  return advise(address, bytes, cudaMemAdviseUnsetReadMostly, 0);
}

inline constexpr bool has_grains = false;
inline constexpr unsigned host_alloc_fine = 0;
inline constexpr unsigned host_alloc_coarse = 0;

inline gpuError_t allocate_fine_grained(void**, std::size_t) { return cudaErrorNotSupported; }

inline gpuError_t coarse_grained(void*, std::size_t, int) { return cudaErrorNotSupported; }

inline gpuError_t prefetch(void* address, std::size_t bytes, int device, int node, gpuStream_t stream) {
#if CUDART_VERSION >= 13000
  cudaMemLocation location{};
  location.type = device >= 0 ? cudaMemLocationTypeDevice
                  : node >= 0 ? cudaMemLocationTypeHostNuma
                              : cudaMemLocationTypeHost;
  location.id = device >= 0 ? device : node >= 0 ? node : 0;
  const gpuError_t status = cudaMemPrefetchAsync(address, bytes, location, 0, stream);
  if (status == cudaSuccess || location.type != cudaMemLocationTypeHostNuma) return status;
  static_cast<void>(cudaGetLastError());  // not every driver takes managed memory to a node
  return prefetch(address, bytes, device, -1, stream);
#else
  static_cast<void>(node);
  return cudaMemPrefetchAsync(address, bytes, device < 0 ? cudaCpuDeviceId : device, stream);
#endif
}

inline gpuError_t last_prefetch(const void* address, std::size_t bytes, int* device) {
  return cudaMemRangeGetAttribute(device, sizeof *device, cudaMemRangeAttributeLastPrefetchLocation, address,
                                  bytes);
}

// The driver's own, found at run time: linking libcuda would keep the engine from starting where there is none.
using VirtualHandle = CUmemGenericAllocationHandle;
#define LINKSCOPE_VIRTUAL(name) "cu" #name

/// The driver's function of that name, as CUDA `version` has it; null where the driver has none.
inline gpuError_t find_in_driver(const char* symbol, void** address, unsigned int version = 12000) {
#if CUDART_VERSION >= 12050
  return cudaGetDriverEntryPointByVersion(symbol, address, version, cudaEnableDefault, nullptr);
#else
  static_cast<void>(version);
  return cudaGetDriverEntryPoint(symbol, address, cudaEnableDefault);
#endif
}

/// Calls the driver's `function`, found by its name at the first call: a look-up takes microseconds, and calls are
/// measured. The template names the function and links nothing. The driver's answers have the runtime's numbers.
template <auto function, unsigned int version = 12000, class... Arguments>
gpuError_t call_driver(const char* symbol, Arguments... arguments) {
  static void* entry_point = nullptr;
  static const gpuError_t status = find_in_driver(symbol, &entry_point, version);
  if (status != cudaSuccess) return status;
  if (entry_point == nullptr) return cudaErrorNotSupported;
  return static_cast<gpuError_t>(reinterpret_cast<decltype(function)>(entry_point)(arguments...));
}

inline CUmemAllocationProp virtual_properties(int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

inline CUdeviceptr driver_address(void* address) { return reinterpret_cast<CUdeviceptr>(address); }

inline gpuError_t virtual_granularity(std::size_t* bytes, int device) {
  const CUmemAllocationProp properties = virtual_properties(device);
  return call_driver<cuMemGetAllocationGranularity>("cuMemGetAllocationGranularity", bytes, &properties,
                                                    CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
}

inline gpuError_t virtual_create(VirtualHandle* handle, std::size_t bytes, int device) {
  const CUmemAllocationProp properties = virtual_properties(device);
  return call_driver<cuMemCreate>("cuMemCreate", handle, bytes, &properties, 0ULL);
}

inline gpuError_t virtual_release(VirtualHandle handle) {
  return call_driver<cuMemRelease>("cuMemRelease", handle);
}

inline gpuError_t virtual_reserve(void** address, std::size_t bytes) {
  CUdeviceptr range = 0;
  const gpuError_t status = call_driver<cuMemAddressReserve>("cuMemAddressReserve", &range, bytes,
                                                             std::size_t{0}, CUdeviceptr{0}, 0ULL);
  *address = reinterpret_cast<void*>(range);
  return status;
}

inline gpuError_t virtual_map(void* address, std::size_t bytes, VirtualHandle handle) {
  return call_driver<cuMemMap>("cuMemMap", driver_address(address), bytes, std::size_t{0}, handle, 0ULL);
}

inline gpuError_t virtual_access(void* address, std::size_t bytes, const gpuMemAccessDesc& access) {
  CUmemAccessDesc wanted{};
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  wanted.location.id = access.location.id;
  wanted.flags = static_cast<CUmemAccess_flags>(access.flags);
  return call_driver<cuMemSetAccess>("cuMemSetAccess", driver_address(address), bytes, &wanted,
                                     std::size_t{1});
}

inline gpuError_t virtual_unmap(void* address, std::size_t bytes) {
  return call_driver<cuMemUnmap>("cuMemUnmap", driver_address(address), bytes);
}

inline gpuError_t virtual_free(void* address, std::size_t bytes) {
  return call_driver<cuMemAddressFree>("cuMemAddressFree", driver_address(address), bytes);
}

inline gpuError_t allocation_of(void* address, void** base, std::size_t* bytes) {
  CUdeviceptr begin = 0;
  const gpuError_t status =
      call_driver<cuMemGetAddressRange>("cuMemGetAddressRange", &begin, bytes, driver_address(address));
  *base = reinterpret_cast<void*>(begin);
  return status;
}

inline gpuError_t upload_graph(gpuGraphExec_t graph, gpuStream_t stream) {
  return cudaGraphUpload(graph, stream);
}

inline std::string no_kernel_names() {
#if CUDART_VERSION >= 12030
  int driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver >= 12030) return {};
  return "the driver does not name kernels: that came with CUDA 12.3, it speaks " + version_text(driver);
#else
  return "this engine was built with CUDA " + version_text(CUDART_VERSION) +
         ": names of kernels came with 12.3";
#endif
}

/// Gives the name of the kernel of a graph's node, and its blocks in x; drivers before CUDA 12.3 do not know it.
inline gpuError_t kernel_of(gpuGraphNode_t node, const char** kernel_name, unsigned int* blocks) {
#if CUDART_VERSION >= 12030
  CUDA_KERNEL_NODE_PARAMS kernel{};
  const gpuError_t status =
      call_driver<cuGraphKernelNodeGetParams>("cuGraphKernelNodeGetParams", node, &kernel);
  if (status != cudaSuccess) return status;
  *blocks = kernel.gridDimX;
  if (kernel.func == nullptr)
    return call_driver<cuKernelGetName, 12030>("cuKernelGetName", kernel_name, kernel.kern);
  return call_driver<cuFuncGetName, 12030>("cuFuncGetName", kernel_name, kernel.func);
#else
  static_cast<void>(node);
  static_cast<void>(kernel_name);
  static_cast<void>(blocks);
  return cudaErrorNotSupported;
#endif
}

inline gpuError_t copy_3d_between(const gpuMemcpy3DParms& region, int source, int destination,
                                  gpuStream_t stream) {
  cudaMemcpy3DPeerParms parameters{};
  parameters.srcPtr = region.srcPtr;
  parameters.srcDevice = source;
  parameters.dstPtr = region.dstPtr;
  parameters.dstDevice = destination;
  parameters.extent = region.extent;
  return cudaMemcpy3DPeerAsync(&parameters, stream);
}

inline std::optional<bool> multicast(int device) {
  constexpr auto supported = static_cast<CUdevice_attribute>(132);  // by name from CUDA 12.1 on
  int value = 0;
  const gpuError_t status =
      call_driver<cuDeviceGetAttribute>("cuDeviceGetAttribute", &value, supported, device);
  return status == cudaSuccess ? std::optional<bool>(value != 0) : std::nullopt;
}

inline std::string no_batch() {
#if CUDART_VERSION >= 12080
  int driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver >= 12080) return {};
  return "the driver has no cudaMemcpyBatchAsync: that came with CUDA 12.8, it speaks " +
         version_text(driver);
#else
  return "this engine was built with CUDA " + version_text(CUDART_VERSION) +
         ": cudaMemcpyBatchAsync came with 12.8";
#endif
}

/// `count` copies in one call; what they write is in stream order as a whole. Not for the legacy stream.
#if CUDART_VERSION >= 12080
inline gpuError_t copy_batch(void** destinations, void** sources, std::size_t* sizes, std::size_t count,
                             ReadOrder order, gpuStream_t stream) {
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = order == ReadOrder::any    ? cudaMemcpySrcAccessOrderAny
                              : order == ReadOrder::call ? cudaMemcpySrcAccessOrderDuringApiCall
                                                         : cudaMemcpySrcAccessOrderStream;
  std::size_t first = 0;
#if CUDART_VERSION >= 13000
  return cudaMemcpyBatchAsync(destinations, sources, sizes, count, &attributes, &first, 1, stream);
#else
  std::size_t failed = 0;
  return cudaMemcpyBatchAsync(destinations, sources, sizes, count, &attributes, &first, 1, &failed, stream);
#endif
}
#else
inline gpuError_t copy_batch(void**, void**, std::size_t*, std::size_t, ReadOrder, gpuStream_t) {
  return cudaErrorNotSupported;
}
#endif

/// Why `kernel` cannot be of a kind that GPUs have from compute capability 9.0 on; empty where it can.
inline std::string below_90(const char* what, int device, const void* kernel) {
  constexpr int needed = 9;
  int major = 0;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
      major < needed) {
    return std::string(what) + " need compute capability 9.0, this GPU has " + std::to_string(major) + ".x";
  }
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess || attributes.ptxVersion < 10 * needed) {
    return std::string(what) + " need an engine built for compute capability 9.0 (CMAKE_CUDA_ARCHITECTURES)";
  }
  return {};
}

inline std::string no_bulk_copy(int device, const void* kernel) {
  return below_90("bulk copies (TMA)", device, kernel);
}

inline std::string no_programmatic_start(int device, const void* kernel) {
#if CUDART_VERSION >= 12030
  constexpr int recordable = 12030;  // into graphs
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver < recordable)
    return "programmatic dependent launches are recorded into graphs from CUDA 12.3 on, the driver speaks " +
           version_text(driver);
  return below_90("programmatic dependent launches", device, kernel);
#else
  static_cast<void>(device);
  static_cast<void>(kernel);
  return "programmatic dependent launches are recorded into graphs from CUDA 12.3 on, this engine was built "
         "with " +
         version_text(CUDART_VERSION);
#endif
}

inline gpuError_t launch_kernel(const void* kernel, dim3 blocks, dim3 threads, void** arguments,
                                gpuStream_t stream, Start start) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = start == Start::programmatic ? 1 : 0;
  return cudaLaunchKernelExC(&config, kernel, arguments);
}

}  // namespace linkscope::gpu::vendor
