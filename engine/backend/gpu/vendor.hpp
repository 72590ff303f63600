// The one place where CUDA and HIP differ: names, device clock, system-scope and streaming access.
// Everything else in backend/gpu is written once, in the terms of this file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#if defined(__HIP_PLATFORM_AMD__) || defined(__HIPCC__)

#include <hip/hip_runtime.h>

#define LINKSCOPE_HIP 1
#define LINKSCOPE_API(name) hip##name
#define LINKSCOPE_ATTRIBUTE(name) hipDeviceAttribute##name
#define LINKSCOPE_EITHER(hip, cuda) hip

#else

#include <cuda.h>
#include <cuda_runtime.h>

#define LINKSCOPE_HIP 0
#define LINKSCOPE_API(name) cuda##name
#define LINKSCOPE_ATTRIBUTE(name) cudaDevAttr##name
#define LINKSCOPE_EITHER(hip, cuda) cuda

#endif

// Names that differ by more than their prefix.
#define gpuDeviceProp_t LINKSCOPE_EITHER(hipDeviceProp_t, cudaDeviceProp)
#define gpuHostAlloc LINKSCOPE_EITHER(hipHostMalloc, cudaHostAlloc)
#define gpuHostAllocPortable LINKSCOPE_EITHER(hipHostMallocPortable, cudaHostAllocPortable)
#define gpuHostAllocMapped LINKSCOPE_EITHER(hipHostMallocMapped, cudaHostAllocMapped)
#define gpuHostAllocWriteCombined LINKSCOPE_EITHER(hipHostMallocWriteCombined, cudaHostAllocWriteCombined)
#define gpuFreeHost LINKSCOPE_EITHER(hipHostFree, cudaFreeHost)
#define gpuErrorMemoryAllocation LINKSCOPE_EITHER(hipErrorOutOfMemory, cudaErrorMemoryAllocation)
#define gpuAttributeMultiprocessors \
  LINKSCOPE_EITHER(hipDeviceAttributeMultiprocessorCount, cudaDevAttrMultiProcessorCount)
#define gpuAttributeAsyncEngines LINKSCOPE_ATTRIBUTE(AsyncEngineCount)
#define gpuAttributeClockRate LINKSCOPE_ATTRIBUTE(ClockRate)
#define gpuAttributeMemoryClockRate LINKSCOPE_ATTRIBUTE(MemoryClockRate)
#define gpuAttributeMemoryBusWidth \
  LINKSCOPE_EITHER(hipDeviceAttributeMemoryBusWidth, cudaDevAttrGlobalMemoryBusWidth)
#define gpuAttributeL2Bytes LINKSCOPE_ATTRIBUTE(L2CacheSize)
#define gpuAttributeEcc LINKSCOPE_ATTRIBUTE(EccEnabled)
#define gpuAttributeManagedMemory LINKSCOPE_ATTRIBUTE(ManagedMemory)
#define gpuAttributeConcurrentManagedAccess LINKSCOPE_ATTRIBUTE(ConcurrentManagedAccess)
#define gpuAttributePageableMemoryAccess LINKSCOPE_ATTRIBUTE(PageableMemoryAccess)
#define gpuAttributePageableByHostTables LINKSCOPE_ATTRIBUTE(PageableMemoryAccessUsesHostPageTables)
#define gpuAttributeIntegrated LINKSCOPE_ATTRIBUTE(Integrated)
#define gpuAttributeDirectHostAccess LINKSCOPE_ATTRIBUTE(DirectManagedMemAccessFromHost)
#define gpuAttributeHostNativeAtomics LINKSCOPE_ATTRIBUTE(HostNativeAtomicSupported)
#define gpuAttributeSharedPerBlockOptin \
  LINKSCOPE_EITHER(hipDeviceAttributeMaxSharedMemoryPerBlock, cudaDevAttrMaxSharedMemoryPerBlockOptin)
#define gpuP2PNativeAtomics \
  LINKSCOPE_EITHER(hipDevP2PAttrNativeAtomicSupported, cudaDevP2PAttrNativeAtomicSupported)
#define gpuAttributeMemoryPools LINKSCOPE_ATTRIBUTE(MemoryPoolsSupported)

// Names that differ by their prefix alone.
#define gpuError_t LINKSCOPE_API(Error_t)
#define gpuSuccess LINKSCOPE_API(Success)
#define gpuErrorNotReady LINKSCOPE_API(ErrorNotReady)
#define gpuErrorUnknown LINKSCOPE_API(ErrorUnknown)
#define gpuErrorPeerAccessAlreadyEnabled LINKSCOPE_API(ErrorPeerAccessAlreadyEnabled)
#define gpuGetErrorString LINKSCOPE_API(GetErrorString)
#define gpuGetLastError LINKSCOPE_API(GetLastError)
#define gpuGetDeviceCount LINKSCOPE_API(GetDeviceCount)
#define gpuGetDeviceProperties LINKSCOPE_API(GetDeviceProperties)
#define gpuDeviceGetAttribute LINKSCOPE_API(DeviceGetAttribute)
#define gpuDeviceGetStreamPriorityRange LINKSCOPE_API(DeviceGetStreamPriorityRange)
#define gpuDeviceGetPCIBusId LINKSCOPE_API(DeviceGetPCIBusId)
#define gpuRuntimeGetVersion LINKSCOPE_API(RuntimeGetVersion)
#define gpuDriverGetVersion LINKSCOPE_API(DriverGetVersion)
#define gpuSetDevice LINKSCOPE_API(SetDevice)
#define gpuSetDeviceFlags LINKSCOPE_API(SetDeviceFlags)
#define gpuDeviceScheduleSpin LINKSCOPE_API(DeviceScheduleSpin)
#define gpuDeviceScheduleYield LINKSCOPE_API(DeviceScheduleYield)
#define gpuDeviceScheduleBlockingSync LINKSCOPE_API(DeviceScheduleBlockingSync)
#define gpuDeviceMapHost LINKSCOPE_API(DeviceMapHost)
#define gpuDeviceSynchronize LINKSCOPE_API(DeviceSynchronize)
#define gpuDeviceCanAccessPeer LINKSCOPE_API(DeviceCanAccessPeer)
#define gpuDeviceGetP2PAttribute LINKSCOPE_API(DeviceGetP2PAttribute)
#define gpuDeviceEnablePeerAccess LINKSCOPE_API(DeviceEnablePeerAccess)
#define gpuDeviceDisablePeerAccess LINKSCOPE_API(DeviceDisablePeerAccess)
#define gpuMemGetInfo LINKSCOPE_API(MemGetInfo)
#define gpuMalloc LINKSCOPE_API(Malloc)
#define gpuFree LINKSCOPE_API(Free)
#define gpuMallocAsync LINKSCOPE_API(MallocAsync)
#define gpuFreeAsync LINKSCOPE_API(FreeAsync)
#define gpuMemPool_t LINKSCOPE_API(MemPool_t)
#define gpuDeviceGetDefaultMemPool LINKSCOPE_API(DeviceGetDefaultMemPool)
#define gpuMemPoolSetAccess LINKSCOPE_API(MemPoolSetAccess)
#define gpuMemAccessDesc LINKSCOPE_API(MemAccessDesc)
#define gpuMemAccessFlagsProtNone LINKSCOPE_API(MemAccessFlagsProtNone)
#define gpuMemAccessFlagsProtReadWrite LINKSCOPE_API(MemAccessFlagsProtReadWrite)
#define gpuMemLocationTypeDevice LINKSCOPE_API(MemLocationTypeDevice)
#define gpuIpcMemHandle_t LINKSCOPE_API(IpcMemHandle_t)
#define gpuIpcGetMemHandle LINKSCOPE_API(IpcGetMemHandle)
#define gpuIpcOpenMemHandle LINKSCOPE_API(IpcOpenMemHandle)
#define gpuIpcCloseMemHandle LINKSCOPE_API(IpcCloseMemHandle)
#define gpuIpcMemLazyEnablePeerAccess LINKSCOPE_API(IpcMemLazyEnablePeerAccess)
#define gpuMallocManaged LINKSCOPE_API(MallocManaged)
#define gpuMemAttachGlobal LINKSCOPE_API(MemAttachGlobal)
#define gpuHostRegister LINKSCOPE_API(HostRegister)
#define gpuHostUnregister LINKSCOPE_API(HostUnregister)
#define gpuHostRegisterPortable LINKSCOPE_API(HostRegisterPortable)
#define gpuHostRegisterMapped LINKSCOPE_API(HostRegisterMapped)
#define gpuHostGetDevicePointer LINKSCOPE_API(HostGetDevicePointer)
#define gpuMemsetAsync LINKSCOPE_API(MemsetAsync)
#define gpuMemcpy LINKSCOPE_API(Memcpy)
#define gpuMemcpyAsync LINKSCOPE_API(MemcpyAsync)
#define gpuMemcpyPeer LINKSCOPE_API(MemcpyPeer)
#define gpuMemcpyPeerAsync LINKSCOPE_API(MemcpyPeerAsync)
#define gpuMemcpy2DAsync LINKSCOPE_API(Memcpy2DAsync)
#define gpuMemcpy3DAsync LINKSCOPE_API(Memcpy3DAsync)
#define gpuMemcpy3DParms LINKSCOPE_API(Memcpy3DParms)
#define gpuMemcpyDefault LINKSCOPE_API(MemcpyDefault)
#define gpuMemcpyDeviceToDevice LINKSCOPE_API(MemcpyDeviceToDevice)
#define gpuStream_t LINKSCOPE_API(Stream_t)
#define gpuStreamNonBlocking LINKSCOPE_API(StreamNonBlocking)
#define gpuStreamCreateWithFlags LINKSCOPE_API(StreamCreateWithFlags)
#define gpuStreamCreateWithPriority LINKSCOPE_API(StreamCreateWithPriority)
#define gpuStreamDestroy LINKSCOPE_API(StreamDestroy)
#define gpuStreamSynchronize LINKSCOPE_API(StreamSynchronize)
#define gpuStreamWaitEvent LINKSCOPE_API(StreamWaitEvent)
#define gpuStreamQuery LINKSCOPE_API(StreamQuery)
#define gpuStreamBeginCapture LINKSCOPE_API(StreamBeginCapture)
#define gpuStreamEndCapture LINKSCOPE_API(StreamEndCapture)
#define gpuStreamCaptureMode LINKSCOPE_API(StreamCaptureMode)
#define gpuStreamCaptureModeThreadLocal LINKSCOPE_API(StreamCaptureModeThreadLocal)
#define gpuStreamCaptureModeRelaxed LINKSCOPE_API(StreamCaptureModeRelaxed)
#define gpuThreadExchangeStreamCaptureMode LINKSCOPE_API(ThreadExchangeStreamCaptureMode)
#define gpuEvent_t LINKSCOPE_API(Event_t)
#define gpuEventCreate LINKSCOPE_API(EventCreate)
#define gpuEventCreateWithFlags LINKSCOPE_API(EventCreateWithFlags)
#define gpuEventDisableTiming LINKSCOPE_API(EventDisableTiming)
#define gpuEventInterprocess LINKSCOPE_API(EventInterprocess)
#define gpuIpcEventHandle_t LINKSCOPE_API(IpcEventHandle_t)
#define gpuIpcGetEventHandle LINKSCOPE_API(IpcGetEventHandle)
#define gpuIpcOpenEventHandle LINKSCOPE_API(IpcOpenEventHandle)
#define gpuEventDestroy LINKSCOPE_API(EventDestroy)
#define gpuEventRecord LINKSCOPE_API(EventRecord)
#define gpuEventElapsedTime LINKSCOPE_API(EventElapsedTime)
#define gpuEventSynchronize LINKSCOPE_API(EventSynchronize)
#define gpuGraph_t LINKSCOPE_API(Graph_t)
#define gpuGraphExec_t LINKSCOPE_API(GraphExec_t)
#define gpuGraphNode_t LINKSCOPE_API(GraphNode_t)
#define gpuGraphCreate LINKSCOPE_API(GraphCreate)
#define gpuGraphAddKernelNode LINKSCOPE_API(GraphAddKernelNode)
#define gpuGraphAddMemcpyNode LINKSCOPE_API(GraphAddMemcpyNode)
#define gpuGraphAddMemcpyNode1D LINKSCOPE_API(GraphAddMemcpyNode1D)
#define gpuKernelNodeParams LINKSCOPE_API(KernelNodeParams)
#define gpuGraphDestroy LINKSCOPE_API(GraphDestroy)
#define gpuGraphExecDestroy LINKSCOPE_API(GraphExecDestroy)
#define gpuGraphInstantiateWithFlags LINKSCOPE_API(GraphInstantiateWithFlags)
#define gpuGraphLaunch LINKSCOPE_API(GraphLaunch)
#define gpuGraphGetNodes LINKSCOPE_API(GraphGetNodes)
#define gpuGraphNodeGetType LINKSCOPE_API(GraphNodeGetType)
#define gpuGraphNodeType LINKSCOPE_API(GraphNodeType)
#define gpuGraphNodeTypeKernel LINKSCOPE_API(GraphNodeTypeKernel)
#define gpuGraphNodeTypeMemcpy LINKSCOPE_API(GraphNodeTypeMemcpy)
#define gpuFuncAttributes LINKSCOPE_API(FuncAttributes)
#define gpuFuncGetAttributes LINKSCOPE_API(FuncGetAttributes)
#define gpuLaunchKernel LINKSCOPE_API(LaunchKernel)
#define gpuFuncSetAttribute LINKSCOPE_API(FuncSetAttribute)
#define gpuOccupancyMaxActiveBlocksPerMultiprocessor LINKSCOPE_API(OccupancyMaxActiveBlocksPerMultiprocessor)
#define gpuFuncAttributeMaxDynamicSharedMemorySize LINKSCOPE_API(FuncAttributeMaxDynamicSharedMemorySize)

namespace linkscope::gpu {

/// Bytes that one thread moves with one instruction.
inline constexpr std::size_t vector_bytes = 16;

}  // namespace linkscope::gpu

namespace linkscope::gpu::vendor {

/// When a kernel's blocks may come to the GPU. complete: when all that stands before it in the stream has ended.
/// programmatic: already when all blocks of the kernel before it have called let_next_start(), to wait for that one's
/// end on the spot, by await_predecessors(); so only launching is brought forward.
enum class Start { complete, programmatic };

/// When a batch of copies may read its sources: in stream order, while the call lasts, or at any time. The last two may
/// read what earlier work of the stream has not yet written.
enum class ReadOrder { stream, call, any };

}  // namespace linkscope::gpu::vendor

#if LINKSCOPE_HIP
#include "backend/gpu/vendor/hip.hpp"
#else
#include "backend/gpu/vendor/cuda.hpp"
#endif

namespace linkscope::gpu::vendor {

#if defined(__CUDACC__) || defined(__HIPCC__)

/// The type that 64-bit atomics take.
using Counter = unsigned long long;

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

/// The multiprocessor's own cycle counter, read once `value` is there: all loads that it depends on have ended.
__device__ inline std::uint64_t cycles_once(const void* value) {
#if LINKSCOPE_HIP
#if defined(__HIP_DEVICE_COMPILE__)
  asm volatile("" ::"v"(value) : "memory");
  return static_cast<std::uint64_t>(clock64());
#else
  static_cast<void>(value);
  return 0;
#endif
#else
  if (value == nullptr) return 0;  // a branch waits for what decides it
  std::uint64_t cycles;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
  return cycles;
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

/// Does the same for the 8 bytes alone: nothing is said of what was written before them.
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

/// A vector's two words, from the low bytes up.
__device__ inline std::uint64_t low_word(const Vector& vector) {
  return vector.x | static_cast<std::uint64_t>(vector.y) << 32U;
}
__device__ inline std::uint64_t high_word(const Vector& vector) {
  return vector.z | static_cast<std::uint64_t>(vector.w) << 32U;
}
__device__ inline Vector vector_of(std::uint64_t low, std::uint64_t high) {
  return {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32U),
          static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32U)};
}

/// Two 64-bit words that one instruction loads or stores.
struct alignas(16) WordPair {
  std::uint64_t first, second;
};

/// A load and a store that ask caches not to keep the line.
__device__ inline Vector load_streaming(const Vector* address) {
#if LINKSCOPE_HIP
  const auto* word = reinterpret_cast<const std::uint64_t*>(address);
  const std::uint64_t low = __builtin_nontemporal_load(word);
  return vector_of(low, __builtin_nontemporal_load(word + 1));
#else
  const uint4 value = __ldcs(reinterpret_cast<const uint4*>(address));
  return {value.x, value.y, value.z, value.w};
#endif
}

__device__ inline void store_streaming(Vector* address, const Vector& value) {
#if LINKSCOPE_HIP
  auto* word = reinterpret_cast<std::uint64_t*>(address);
  __builtin_nontemporal_store(low_word(value), word);
  __builtin_nontemporal_store(high_word(value), word + 1);
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

/// Does the same for an unsigned whole number.
template <class Number>
__device__ inline Number load_shared_level(const Number* address) {
#if LINKSCOPE_HIP
  return __builtin_nontemporal_load(address);
#else
  return __ldcg(address);
#endif
}

/// Says who sees an atomic operation as one: the threads of one GPU, or every processor of the node.
enum class Scope { device, system };

#if LINKSCOPE_HIP
template <Scope scope>
inline constexpr int memory_scope =
    scope == Scope::system ? __HIP_MEMORY_SCOPE_SYSTEM : __HIP_MEMORY_SCOPE_AGENT;
#endif

/// `Word`: std::uint32_t or unsigned long long.
template <Scope scope, class Word>
__device__ inline void atomic_add(Word* address, Word value) {
#if LINKSCOPE_HIP
  static_cast<void>(__hip_atomic_fetch_add(address, value, __ATOMIC_RELAXED, memory_scope<scope>));
#else
  if constexpr (scope == Scope::system) {
    static_cast<void>(atomicAdd_system(address, value));
  } else {
    static_cast<void>(atomicAdd(address, value));
  }
#endif
}

/// Gives what stood there before.
template <Scope scope, class Word>
__device__ inline Word atomic_exchange(Word* address, Word value) {
#if LINKSCOPE_HIP
  return __hip_atomic_exchange(address, value, __ATOMIC_RELAXED, memory_scope<scope>);
#else
  return scope == Scope::system ? atomicExch_system(address, value) : atomicExch(address, value);
#endif
}

/// Gives what stood there before; `value` stands there now where that was `expected`.
template <Scope scope, class Word>
__device__ inline Word atomic_compare_and_swap(Word* address, Word expected, Word value) {
#if LINKSCOPE_HIP
  static_cast<void>(__hip_atomic_compare_exchange_strong(address, &expected, value, __ATOMIC_RELAXED,
                                                         __ATOMIC_RELAXED, memory_scope<scope>));
  return expected;
#else
  return scope == Scope::system ? atomicCAS_system(address, expected, value)
                                : atomicCAS(address, expected, value);
#endif
}

// Bulk copies between global and shared memory by a GPU's copy unit beside its multiprocessors (TMA). Only for kernels
// that no_bulk_copy() lets run: elsewhere these do nothing. All addresses and lengths are multiples of 16.
#if !LINKSCOPE_HIP && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

__device__ inline std::uint32_t shared_address(const void* address) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(address));
}

/// Makes `barrier`, in shared memory, ready for one arrival per phase, also as the copy unit sees it.
__device__ inline void bulk_barrier_init(std::uint64_t* barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Starts a copy to shared memory; the current phase of `barrier` ends when all its bytes are there.
__device__ inline void bulk_load(std::byte* shared, const std::byte* global, std::uint32_t bytes,
                                 std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(shared)),
      "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}

/// Waits until the phase of that parity has ended.
__device__ inline void bulk_wait_loaded(std::uint64_t* barrier, std::uint32_t parity) {
  std::uint32_t ended = 0;
  while (ended == 0) {
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
        : "=r"(ended)
        : "r"(shared_address(barrier)), "r"(parity)
        : "memory");
  }
}

/// Starts a copy from shared memory, as a group of its own.
__device__ inline void bulk_store(std::byte* global, const std::byte* shared, std::uint32_t bytes) {
  asm volatile(
      "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(global)),
      "r"(shared_address(shared)), "r"(bytes)
      : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// Waits until all but the latest `pending` of this thread's stores have read their shared memory.
template <int pending>
__device__ inline void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

/// Waits until all of this thread's stores have been written.
__device__ inline void bulk_wait_written() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

/// Blocks of the next kernel in the stream may come where it was launched with Start::programmatic.
__device__ inline void let_next_start() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
/// Returns when all that stands before this kernel in the stream has ended and what it wrote is there: at once unless
/// the kernel was launched with Start::programmatic. Such a kernel calls it before it touches any memory.
__device__ inline void await_predecessors() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
/// Has `value` by now: what it is reckoned from has been loaded.
__device__ inline void have(std::uint32_t value) {  // one value of all sleeps a moment: so it must be known
  asm volatile("{ .reg .pred p; setp.eq.u32 p, %0, 255; @p nanosleep.u32 1; }" ::"r"(value) : "memory");
}

#else

__device__ inline void bulk_barrier_init(std::uint64_t*) {}
__device__ inline void bulk_load(std::byte*, const std::byte*, std::uint32_t, std::uint64_t*) {}
__device__ inline void bulk_wait_loaded(std::uint64_t*, std::uint32_t) {}
__device__ inline void bulk_store(std::byte*, const std::byte*, std::uint32_t) {}
template <int pending>
__device__ inline void bulk_wait_read() {}
__device__ inline void bulk_wait_written() {}

__device__ inline void let_next_start() {}
__device__ inline void await_predecessors() {}
__device__ inline void have(std::uint32_t) {}

#endif

#endif

}  // namespace linkscope::gpu::vendor

#if defined(__CUDACC__) || defined(__HIPCC__)
#if LINKSCOPE_HIP
#include "backend/gpu/vendor/hip_device.hpp"
#else
#include "backend/gpu/vendor/cuda_device.hpp"
#endif
#endif
