// The modelled catalog as tables: what each memory and method is called and how it moves bytes.
#pragma once

#include <array>
#include <string_view>

#include "model/method.hpp"

namespace linkscope::modelled {

/// How a method's bytes run, as far as the model tells methods apart.
enum class Motion {
  copy,       ///< from the source along the route to the destination
  read,       ///< from the source along the route to the executor
  write,      ///< from the executor along the route to the destination
  exchange,   ///< half the bytes each way between source and destination
  stream,     ///< source arrays along the route to the executor, the result from there to the destination
  chase,      ///< dependent loads of the executor from the source
  ping_pong,  ///< a flag to the destination and back; one operation is one way
};

/// Which part of a node drives a method.
enum class Driver { cpu, gpu, either };

/// Of a kernel that visits memory word after word: what does not matter here, and what must be as usual.
inline constexpr std::array<std::string_view, 6> launch_shape{"blocks",    "threads", "unroll",
                                                              "streaming", "graph=0", "width=16"};

struct MethodRow {
  MethodSpec spec;
  Motion motion;
  Driver driver;
  /// Parameters of the real method that change nothing here; "name=value": none but that value is modelled.
  std::array<std::string_view, 6> taken;
  Reach reach = Reach::process;
};

inline constexpr Quantity bandwidth = Quantity::bandwidth;
inline constexpr Quantity latency = Quantity::latency;

inline constexpr std::array<MethodRow, 19> method_rows{{
    {{"memcpy", "CPU threads copy (ceiling per thread)"}, Motion::copy, Driver::cpu, {"non_temporal=0"}},
    {{"cpu-read", "CPU threads load"}, Motion::read, Driver::cpu, {"non_temporal=0"}},
    {{"cpu-write", "CPU threads store"}, Motion::write, Driver::cpu, {"non_temporal=0"}},
    {{"copy-engine", "a GPU's copy engine copies", bandwidth, copy_engine_traits},
     Motion::copy,
     Driver::gpu,
     {"call", "api", "peer_access=on", "until=end", "graph=0"}},
    {{"kernel-copy", "a kernel loads and stores", bandwidth, kernel_traits},
     Motion::copy,
     Driver::gpu,
     launch_shape},
    {{"kernel-bulk-copy", "a kernel moves blocks", bandwidth, kernel_traits},
     Motion::copy,
     Driver::gpu,
     {"blocks", "threads", "stage_bytes", "stages"}},
    {{"kernel-read", "a kernel loads", bandwidth, kernel_traits}, Motion::read, Driver::gpu, launch_shape},
    {{"kernel-write", "a kernel stores", bandwidth, kernel_traits}, Motion::write, Driver::gpu, launch_shape},
    {{"kernel-exchange", "one kernel copies both ways at once", bandwidth, exchange_traits},
     Motion::exchange,
     Driver::gpu,
     launch_shape},
    {{"stream", "STREAM's loops on arrays, whose sum is not carried out", bandwidth, kernel_traits},
     Motion::stream,
     Driver::gpu,
     launch_shape},
    {{"page-fault", "pages that migrate because they are touched", bandwidth, page_fault_traits},
     Motion::read,
     Driver::either,
     {"access", "touch=word", "threads"}},
    {{"prefetch", "pages sent ahead", bandwidth, prefetch_traits}, Motion::read, Driver::gpu, {"to"}},
    {{"pointer-chase", "dependent loads, one after another", latency, pointer_chase_traits},
     Motion::chase,
     Driver::either,
     {"stride=128", "order"}},
    {{"ping-pong", "flags in each other's memory", latency, ping_pong_traits},
     Motion::ping_pong,
     Driver::gpu,
     {"ordering=relaxed", "round_trips"}},
    {{"mpi", "a message between two processes", bandwidth, mpi_traits},
     Motion::copy,
     Driver::either,
     {"call", "window", "staging=none"},
     Reach::processes},
    {{"shm-copy", "a message copied straight into shared memory", bandwidth, shm_copy_traits},
     Motion::copy,
     Driver::cpu,
     {"call"},
     Reach::processes},
    {{"xccl", "a message by the GPU vendor's library", bandwidth, xccl_traits},
     Motion::copy,
     Driver::gpu,
     {"form", "launch", "recorded"}},
    {{"ipc-copy", "a copy engine, into another process's memory", bandwidth, ipc_copy_traits},
     Motion::copy,
     Driver::gpu,
     {}},
    {{"ipc-kernel", "a kernel, into another process's memory", bandwidth, ipc_kernel_traits},
     Motion::copy,
     Driver::gpu,
     launch_shape},
}};

/// How the members of a collective pass their blocks on.
enum class BlockSchedule {
  ring,   ///< each to the next one, n - 1 steps a round; a broadcast along a chain, an all-to-all all at once
  pairs,  ///< each to every other one at once, one step a round; a broadcast in blocks that are then shared
};

struct CollectiveRow {
  MethodSpec spec;
  BlockSchedule schedule;
  Driver driver;
};

inline constexpr std::array<CollectiveRow, 3> collective_rows{{
    {{"mpi-collective", "a collective of processes by MPI", bandwidth, mpi_collective_traits},
     BlockSchedule::ring,
     Driver::either},
    {{"xccl-collective", "a collective by the GPU vendor's library (NCCL, RCCL)", bandwidth, xccl_traits},
     BlockSchedule::ring,
     Driver::gpu},
    {{"direct-collective", "a collective by kernels on one another's memory", bandwidth,
      direct_collective_traits},
     BlockSchedule::pairs,
     Driver::gpu},
}};

/// Where a rank packs what it sends: in a buffer of its own, or with the interface's own stores in its peer's memory.
enum class PackedInto { own_memory, peer_memory };

struct ScheduleRow {
  MethodSpec spec;
  Driver driver;
  PackedInto packed;
  BlockSchedule collectives;  ///< how the steps' numbers are passed on
};

inline constexpr std::array<ScheduleRow, 3> schedule_rows{{
    {{"mpi-schedule", "an application's messages by MPI, phase by phase", bandwidth, mpi_schedule_traits},
     Driver::either,
     PackedInto::own_memory,
     BlockSchedule::ring},
    {{"xccl-schedule", "an application's messages by the GPU vendor's library, phase by phase", bandwidth,
      xccl_schedule_traits},
     Driver::gpu,
     PackedInto::own_memory,
     BlockSchedule::ring},
    {{"direct-schedule",
      "an application's messages by kernels that store into the receiver's memory, phase by phase", bandwidth,
      direct_schedule_traits},
     Driver::gpu,
     PackedInto::peer_memory,
     BlockSchedule::pairs},
}};

inline constexpr std::array<MemorySpec, 13> memory_specs{{
    {"pageable", "ordinary host memory", pageable_traits},
    {"huge", "host memory in huge pages", huge_traits},
    {"shm", "host memory that other processes can map", shm_traits},
    {"pinned", "host memory allocated page-locked", pinned_traits},
    {"registered", "host memory page-locked after the fact", registered_traits},
    {"write-combined", "page-locked host memory that no CPU caches", write_combined_traits},
    {"device", "a GPU's own memory", device_traits},
    {"managed", "one address, pages that can move", managed_traits},
    {"pool", "a GPU's memory, in stream order", pool_traits},
    {"vmm", "a GPU's memory, mapped by hand", vmm_traits},
    {"xccl", "a GPU's memory, from the vendor's library", xccl_memory_traits},
    {"fine-grained", "AMD: memory that all processors see alike at any time", grained_traits},
    {"coarse-grained", "AMD: memory that all processors see alike between kernels", grained_traits},
}};

}  // namespace linkscope::modelled
