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
  chase,      ///< dependent loads of the executor from the source
  ping_pong,  ///< a flag to the destination and back; one operation is one way
};

/// Which part of a node drives a method.
enum class Driver { cpu, gpu, either };

inline constexpr std::array<std::string_view, 4> launch_shape{"blocks", "threads", "unroll", "streaming"};

struct MethodRow {
  std::string_view name;
  Quantity quantity;
  Motion shape;
  Driver driver;
  std::string_view like;  ///< the method whose figures hold where the node has none of its own; empty: none
  std::string_view summary;
  std::array<std::string_view, 4>
      ignored;  ///< parameters of the real methods that the model does not look at
  Reach reach = Reach::process;
};

inline constexpr Quantity bandwidth = Quantity::bandwidth;
inline constexpr Quantity latency = Quantity::latency;

inline constexpr std::array<MethodRow, 20> method_rows{{
    {"memcpy",
     bandwidth,
     Motion::copy,
     Driver::cpu,
     "",
     "CPU threads copy (ceiling per thread)",
     {"non_temporal"}},
    {"cpu-read", bandwidth, Motion::read, Driver::cpu, "memcpy", "CPU threads load", {}},
    {"cpu-write", bandwidth, Motion::write, Driver::cpu, "memcpy", "CPU threads store", {"non_temporal"}},
    {"copy-engine",
     bandwidth,
     Motion::copy,
     Driver::gpu,
     "",
     "a GPU's copy engine copies",
     {"call", "api", "peer_access"}},
    {"copy-engine-2d",
     bandwidth,
     Motion::copy,
     Driver::gpu,
     "copy-engine",
     "planes of rows, as if dense",
     {"region", "in"}},
    {"copy-engine-3d",
     bandwidth,
     Motion::copy,
     Driver::gpu,
     "copy-engine",
     "a box, as if dense",
     {"region", "in"}},
    {"copy-batch",
     bandwidth,
     Motion::copy,
     Driver::gpu,
     "copy-engine",
     "many buffers, as if one",
     {"count", "api"}},
    {"kernel-copy", bandwidth, Motion::copy, Driver::gpu, "", "a kernel loads and stores", launch_shape},
    {"kernel-bulk-copy",
     bandwidth,
     Motion::copy,
     Driver::gpu,
     "kernel-copy",
     "a kernel moves blocks",
     {"blocks", "threads", "stage_bytes", "stages"}},
    {"kernel-strided",
     bandwidth,
     Motion::copy,
     Driver::gpu,
     "kernel-copy",
     "a box, as if dense",
     {"region", "in"}},
    {"kernel-read", bandwidth, Motion::read, Driver::gpu, "", "a kernel loads", launch_shape},
    {"kernel-write", bandwidth, Motion::write, Driver::gpu, "", "a kernel stores", launch_shape},
    {"kernel-exchange", bandwidth, Motion::exchange, Driver::gpu, "", "one kernel copies both ways at once",
     launch_shape},
    {"stream", bandwidth, Motion::copy, Driver::gpu, "kernel-copy", "STREAM, as if a copy of one array",
     launch_shape},
    {"pointer-chase",
     latency,
     Motion::chase,
     Driver::either,
     "",
     "dependent loads, one after another",
     {"stride", "locality", "span"}},
    {"ping-pong", latency, Motion::ping_pong, Driver::gpu, "", "flags in each other's memory", {"hops"}},
    {"mpi",
     bandwidth,
     Motion::copy,
     Driver::either,
     "",
     "a message between two processes",
     {},
     Reach::processes},
    {"xccl", bandwidth, Motion::copy, Driver::gpu, "", "a message by the GPU vendor's library", {}},
    {"ipc-copy",
     bandwidth,
     Motion::copy,
     Driver::gpu,
     "copy-engine",
     "a copy engine, into another process's memory",
     {}},
    {"ipc-kernel", bandwidth, Motion::copy, Driver::gpu, "kernel-copy",
     "a kernel, into another process's memory", launch_shape},
}};

/// How the members of a collective pass their blocks on.
enum class BlockSchedule {
  ring,   ///< each to the next one, n - 1 steps a round; a broadcast along a chain, an all-to-all all at once
  pairs,  ///< each to every other one at once, one step a round; a broadcast in blocks that are then shared
};

struct CollectiveRow {
  std::string_view name;
  BlockSchedule passing;
  Driver driver;
  std::string_view summary;
};

inline constexpr std::array<CollectiveRow, 3> collective_rows{{
    {"mpi-collective", BlockSchedule::ring, Driver::either, "a collective between processes, around a ring"},
    {"xccl-collective", BlockSchedule::ring, Driver::gpu,
     "a collective by the GPU vendor's library, around a ring"},
    {"direct-collective", BlockSchedule::pairs, Driver::gpu,
     "a collective by kernels on one another's memory"},
}};

struct MemoryRow {
  std::string_view name;
  std::string_view summary;
};

inline constexpr std::array<MemoryRow, 12> memory_rows{{
    {"pageable", "ordinary host memory"},
    {"huge", "host memory in huge pages"},
    {"pinned", "host memory allocated page-locked"},
    {"registered", "host memory page-locked after the fact"},
    {"write-combined", "page-locked host memory that no CPU caches"},
    {"device", "a GPU's own memory"},
    {"managed", "one address, pages that can move"},
    {"pool", "a GPU's memory, in stream order"},
    {"vmm", "a GPU's memory, mapped by hand"},
    {"xccl", "a GPU's memory, from the vendor's library"},
    {"fine-grained", "memory that all processors see alike at any time"},
    {"coarse-grained", "memory that all processors see alike between kernels"},
}};

}  // namespace linkscope::modelled
