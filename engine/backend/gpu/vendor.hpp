// The one place where CUDA and HIP differ: names, device clock, system-scope and streaming access.
// Everything else in backend/gpu is written once, in the terms of this file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#if defined(__HIP_PLATFORM_AMD__) || defined(__HIPCC__)

#include <hip/hip_runtime.h>

#define LINKSCOPE_API(name) hip##name
#define LINKSCOPE_HIP 1

// Names that differ by more than their prefix.
#define gpuDeviceProp_t hipDeviceProp_t
#define gpuHostAlloc hipHostMalloc
#define gpuHostAllocPortable hipHostMallocPortable
#define gpuHostAllocMapped hipHostMallocMapped
#define gpuHostAllocWriteCombined hipHostMallocWriteCombined
#define gpuFreeHost hipHostFree
#define gpuErrorMemoryAllocation hipErrorOutOfMemory
#define gpuAttributeMultiprocessors hipDeviceAttributeMultiprocessorCount
#define gpuAttributeAsyncEngines hipDeviceAttributeAsyncEngineCount
#define gpuAttributeClockRate hipDeviceAttributeClockRate
#define gpuAttributeMemoryClockRate hipDeviceAttributeMemoryClockRate
#define gpuAttributeMemoryBusWidth hipDeviceAttributeMemoryBusWidth
#define gpuAttributeL2Bytes hipDeviceAttributeL2CacheSize
#define gpuAttributeEcc hipDeviceAttributeEccEnabled
#define gpuAttributeManagedMemory hipDeviceAttributeManagedMemory
#define gpuAttributeConcurrentManagedAccess hipDeviceAttributeConcurrentManagedAccess
#define gpuAttributePageableMemoryAccess hipDeviceAttributePageableMemoryAccess
#define gpuAttributePageableByHostTables hipDeviceAttributePageableMemoryAccessUsesHostPageTables
#define gpuAttributeIntegrated hipDeviceAttributeIntegrated

#else

#include <cuda_runtime.h>

#define LINKSCOPE_API(name) cuda##name
#define LINKSCOPE_HIP 0

#define gpuDeviceProp_t cudaDeviceProp
#define gpuHostAlloc cudaHostAlloc
#define gpuHostAllocPortable cudaHostAllocPortable
#define gpuHostAllocMapped cudaHostAllocMapped
#define gpuHostAllocWriteCombined cudaHostAllocWriteCombined
#define gpuFreeHost cudaFreeHost
#define gpuErrorMemoryAllocation cudaErrorMemoryAllocation
#define gpuAttributeMultiprocessors cudaDevAttrMultiProcessorCount
#define gpuAttributeAsyncEngines cudaDevAttrAsyncEngineCount
#define gpuAttributeClockRate cudaDevAttrClockRate
#define gpuAttributeMemoryClockRate cudaDevAttrMemoryClockRate
#define gpuAttributeMemoryBusWidth cudaDevAttrGlobalMemoryBusWidth
#define gpuAttributeL2Bytes cudaDevAttrL2CacheSize
#define gpuAttributeEcc cudaDevAttrEccEnabled
#define gpuAttributeManagedMemory cudaDevAttrManagedMemory
#define gpuAttributeConcurrentManagedAccess cudaDevAttrConcurrentManagedAccess
#define gpuAttributePageableMemoryAccess cudaDevAttrPageableMemoryAccess
#define gpuAttributePageableByHostTables cudaDevAttrPageableMemoryAccessUsesHostPageTables
#define gpuAttributeIntegrated cudaDevAttrIntegrated

#endif

// Names that differ by their prefix alone.
#define gpuError_t LINKSCOPE_API(Error_t)
#define gpuSuccess LINKSCOPE_API(Success)
#define gpuErrorNotReady LINKSCOPE_API(ErrorNotReady)
#define gpuErrorPeerAccessAlreadyEnabled LINKSCOPE_API(ErrorPeerAccessAlreadyEnabled)
#define gpuErrorPeerAccessNotEnabled LINKSCOPE_API(ErrorPeerAccessNotEnabled)
#define gpuGetErrorString LINKSCOPE_API(GetErrorString)
#define gpuGetLastError LINKSCOPE_API(GetLastError)
#define gpuGetDeviceCount LINKSCOPE_API(GetDeviceCount)
#define gpuGetDeviceProperties LINKSCOPE_API(GetDeviceProperties)
#define gpuDeviceGetAttribute LINKSCOPE_API(DeviceGetAttribute)
#define gpuDeviceGetPCIBusId LINKSCOPE_API(DeviceGetPCIBusId)
#define gpuRuntimeGetVersion LINKSCOPE_API(RuntimeGetVersion)
#define gpuDriverGetVersion LINKSCOPE_API(DriverGetVersion)
#define gpuSetDevice LINKSCOPE_API(SetDevice)
#define gpuSetDeviceFlags LINKSCOPE_API(SetDeviceFlags)
#define gpuDeviceScheduleSpin LINKSCOPE_API(DeviceScheduleSpin)
#define gpuDeviceMapHost LINKSCOPE_API(DeviceMapHost)
#define gpuDeviceSynchronize LINKSCOPE_API(DeviceSynchronize)
#define gpuDeviceCanAccessPeer LINKSCOPE_API(DeviceCanAccessPeer)
#define gpuDeviceEnablePeerAccess LINKSCOPE_API(DeviceEnablePeerAccess)
#define gpuDeviceDisablePeerAccess LINKSCOPE_API(DeviceDisablePeerAccess)
#define gpuMemGetInfo LINKSCOPE_API(MemGetInfo)
#define gpuMalloc LINKSCOPE_API(Malloc)
#define gpuFree LINKSCOPE_API(Free)
#define gpuMallocManaged LINKSCOPE_API(MallocManaged)
#define gpuMemAttachGlobal LINKSCOPE_API(MemAttachGlobal)
#define gpuHostRegister LINKSCOPE_API(HostRegister)
#define gpuHostUnregister LINKSCOPE_API(HostUnregister)
#define gpuHostRegisterPortable LINKSCOPE_API(HostRegisterPortable)
#define gpuHostRegisterMapped LINKSCOPE_API(HostRegisterMapped)
#define gpuHostGetDevicePointer LINKSCOPE_API(HostGetDevicePointer)
#define gpuMemset LINKSCOPE_API(Memset)
#define gpuMemsetAsync LINKSCOPE_API(MemsetAsync)
#define gpuMemcpyAsync LINKSCOPE_API(MemcpyAsync)
#define gpuMemcpyDefault LINKSCOPE_API(MemcpyDefault)
#define gpuStream_t LINKSCOPE_API(Stream_t)
#define gpuStreamNonBlocking LINKSCOPE_API(StreamNonBlocking)
#define gpuStreamCreateWithFlags LINKSCOPE_API(StreamCreateWithFlags)
#define gpuStreamDestroy LINKSCOPE_API(StreamDestroy)
#define gpuStreamSynchronize LINKSCOPE_API(StreamSynchronize)
#define gpuStreamQuery LINKSCOPE_API(StreamQuery)
#define gpuEvent_t LINKSCOPE_API(Event_t)
#define gpuEventCreate LINKSCOPE_API(EventCreate)
#define gpuEventDestroy LINKSCOPE_API(EventDestroy)
#define gpuEventRecord LINKSCOPE_API(EventRecord)
#define gpuEventElapsedTime LINKSCOPE_API(EventElapsedTime)
#define gpuFuncAttributes LINKSCOPE_API(FuncAttributes)
#define gpuFuncGetAttributes LINKSCOPE_API(FuncGetAttributes)

namespace linkscope::gpu::vendor {

#if LINKSCOPE_HIP

inline constexpr const char* name = "hip";
inline constexpr const char* runtime_name = "HIP runtime";
inline constexpr const char* driver_name = "HIP driver";
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

#else

inline constexpr const char* name = "cuda";
inline constexpr const char* runtime_name = "CUDA runtime";
inline constexpr const char* driver_name = "CUDA driver";
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

#endif

#if defined(__CUDACC__) || defined(__HIPCC__)

/// A clock that all of one device's multiprocessors share, at about `ticks_per_second`.
__device__ inline std::uint64_t device_ticks() {
#if LINKSCOPE_HIP
#if defined(__HIP_DEVICE_COMPILE__)
  return static_cast<std::uint64_t>(wall_clock64());
#else
  return 0;
#endif
#else
  std::uint64_t ticks;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ticks));
  return ticks;
#endif
}

/// Reads what any processor of the node has released to `address`, and everything it wrote before.
__device__ inline std::uint64_t load_acquire_system(const std::uint64_t* address) {
#if LINKSCOPE_HIP
  return __hip_atomic_load(address, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
#else
  std::uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
#endif
}

/// Publishes `value`, and everything written before it, to every processor of the node.
__device__ inline void store_release_system(std::uint64_t* address, std::uint64_t value) {
#if LINKSCOPE_HIP
  __hip_atomic_store(address, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
#else
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
#endif
}

/// The same for the 8 bytes alone: nothing is said of what was written before them.
__device__ inline std::uint64_t load_relaxed_system(const std::uint64_t* address) {
#if LINKSCOPE_HIP
  return __hip_atomic_load(address, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
#else
  std::uint64_t value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
#endif
}

__device__ inline void store_relaxed_system(std::uint64_t* address, std::uint64_t value) {
#if LINKSCOPE_HIP
  __hip_atomic_store(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
#else
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
#endif
}

/// 16 bytes as one register quadruple. `__restrict__`-free: source and destination may be one buffer.
struct alignas(16) Vector {
  std::uint32_t x, y, z, w;
};

/// A load and a store that ask caches not to keep the line.
__device__ inline Vector load_streaming(const Vector* address) {
#if LINKSCOPE_HIP
  const auto* word = reinterpret_cast<const std::uint64_t*>(address);
  const std::uint64_t low = __builtin_nontemporal_load(word);
  const std::uint64_t high = __builtin_nontemporal_load(word + 1);
  return {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32U),
          static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32U)};
#else
  const uint4 value = __ldcs(reinterpret_cast<const uint4*>(address));
  return {value.x, value.y, value.z, value.w};
#endif
}

__device__ inline void store_streaming(Vector* address, const Vector& value) {
#if LINKSCOPE_HIP
  auto* word = reinterpret_cast<std::uint64_t*>(address);
  __builtin_nontemporal_store(value.x | static_cast<std::uint64_t>(value.y) << 32U, word);
  __builtin_nontemporal_store(value.z | static_cast<std::uint64_t>(value.w) << 32U, word + 1);
#else
  __stcs(reinterpret_cast<uint4*>(address), make_uint4(value.x, value.y, value.z, value.w));
#endif
}

/// A load past the caches nearer than the device's last one, so that repeats measure what all processors share.
__device__ inline Vector load_shared_level(const Vector* address) {
#if LINKSCOPE_HIP
  return load_streaming(address);
#else
  const uint4 value = __ldcg(reinterpret_cast<const uint4*>(address));
  return {value.x, value.y, value.z, value.w};
#endif
}

#endif

}  // namespace linkscope::gpu::vendor
