// Traits: what is known of a memory and of a method, so that nobody need ask for their names.
#pragma once

#include <compare>
#include <string_view>

namespace linkscope {

/// Which devices a kind of memory can be on.
enum class Home { host, gpu, anywhere };

struct MemoryTraits {
  Home home = Home::anywhere;
  bool system_pages = false;  ///< the system's own, which no driver has locked: drivers stage copies of them
  bool huge_pages = false;    ///< system pages, in huge ones
  bool migrates = false;      ///< a driver moves the pages to who uses them
  bool registered =
      false;  ///< system pages that a driver has locked since: GPUs have an address of their own for them
  bool uncached = false;          ///< no CPU cache holds it
  bool shareable = false;         ///< another process of the host can map it
  bool plain_allocation = false;  ///< on a GPU: by the runtime's plain call, so with an IPC handle
  bool grained = false;           ///< its coherence is chosen when it is allocated, which AMD alone offers
  bool by_library = false;        ///< a communication library allocates it, for its own calls
  /// All processes of the run allocate it together, in one order and of one size, and free it so (a symmetric heap):
  /// Memory::allocate and the destructor of its buffer are collective. Both succeed in all processes or in none.
  bool collective_allocation = false;

  /// Says whether malloc gives it, or pages that only this process maps.
  [[nodiscard]] bool is_private() const { return system_pages && !shareable; }
  /// Says whether pages are placed where they are first touched; the driver places others when it allocates.
  [[nodiscard]] bool placed_by_touch() const { return system_pages || registered || migrates; }

  bool operator==(const MemoryTraits&) const = default;
  auto operator<=>(const MemoryTraits&) const = default;
};

/// Rates are typical ones in GB/s, for estimates of time alone; 0: that of the memories at its ends.
struct MethodTraits {
  bool stages = false;        ///< copies between GPUs without peer access go through the host
  bool maps_members = false;  ///< members map one another's memory: they are on one host
  bool by_mpi = false;        ///< calls MPI, which wants processes that its own launcher started
  bool by_xccl = false;       ///< calls NCCL or RCCL
  bool by_python = false;     ///< done by the engine's Python child
  bool by_kernel = false;     ///< a kernel moves the bytes: by the device's clock one launch does all repeats
  bool takes_empty = false;   ///< messages of 0 bytes too
  bool answered = false;  ///< a send is answered: its time is a round trip, unless its call says otherwise
  bool migrates = false;  ///< what it times is pages that migrate, each time from where the plan says
  bool leaves_pages = false;  ///< pages that can migrate stay where they are
  bool both_ways = false;     ///< one flow moves bytes both ways at once
  bool dependent = false;     ///< operations that wait for one another
  bool schedules = false;     ///< carries out a schedule; its time is that of the member that takes longest
  double host_gbps = 0;       ///< of host memory
  double gpu_gbps = 0;        ///< between GPUs
  double fill_gbps = 0;  ///< filling and checking host memory, where that is not as fast as the method itself
  double cpu_fill_gbps = 0;  ///< the same where CPUs drive the flow
  /// Of a layer above: the method that it hands its bytes to, or does the work of itself where that can.
  std::string_view calls{};  // NOLINT(readability-redundant-member-init): lets initialisers leave it out

  bool operator==(const MethodTraits&) const = default;
};

// Of the memories that engines offer.
inline constexpr MemoryTraits pageable_traits{.home = Home::host, .system_pages = true};
inline constexpr MemoryTraits huge_traits{.home = Home::host, .system_pages = true, .huge_pages = true};
inline constexpr MemoryTraits shm_traits{.home = Home::host, .system_pages = true, .shareable = true};
inline constexpr MemoryTraits pinned_traits{.home = Home::host};
inline constexpr MemoryTraits registered_traits{.home = Home::host, .registered = true};
inline constexpr MemoryTraits write_combined_traits{.home = Home::host, .uncached = true};
inline constexpr MemoryTraits device_traits{.home = Home::gpu, .plain_allocation = true};
inline constexpr MemoryTraits managed_traits{.migrates = true};
inline constexpr MemoryTraits pool_traits{.home = Home::gpu};
inline constexpr MemoryTraits vmm_traits{.home = Home::gpu};
inline constexpr MemoryTraits xccl_memory_traits{.home = Home::gpu, .by_library = true};
/// Fine-grained and coarse-grained memory.
inline constexpr MemoryTraits grained_traits{.plain_allocation = true, .grained = true};

// Of methods that several files carry out, and of others that take several lines. All others stand in the method's own
// spec.
inline constexpr MethodTraits copy_engine_traits{.stages = true, .leaves_pages = true};
inline constexpr MethodTraits kernel_traits{.by_kernel = true};
/// A ring is linked and walked node by node, in random order, before it is timed.
inline constexpr MethodTraits pointer_chase_traits{.dependent = true, .cpu_fill_gbps = 1.2};
/// Page by page, or through the driver.
inline constexpr MethodTraits allocation_traits{.host_gbps = 5, .gpu_gbps = 5};
inline constexpr MethodTraits first_touch_traits{.host_gbps = 3, .gpu_gbps = 3};
/// CPUs' stores fill host memory.
inline constexpr MethodTraits mpi_traits{.stages = true,
                                         .by_mpi = true,
                                         .takes_empty = true,
                                         .answered = true,
                                         .host_gbps = 4,
                                         .gpu_gbps = 50,
                                         .fill_gbps = 20,
                                         .calls = "shm-copy"};
/// Copies by one thread.
inline constexpr MethodTraits shm_copy_traits{
    .maps_members = true, .takes_empty = true, .answered = true, .host_gbps = 8};
inline constexpr MethodTraits mpi_collective_traits{
    .stages = true, .by_mpi = true, .host_gbps = 1.5, .gpu_gbps = 20, .fill_gbps = 20};
inline constexpr MethodTraits xccl_traits{.stages = true, .by_xccl = true};
inline constexpr MethodTraits mpi_schedule_traits{
    .stages = true, .by_mpi = true, .schedules = true, .host_gbps = 1.5, .gpu_gbps = 20, .fill_gbps = 20};

}  // namespace linkscope
