// Traits: what is known of a memory and of a method, so that nobody need ask for their names.
#pragma once

#include <compare>
#include <string_view>

namespace linkscope {

/// Which devices a kind of memory can lie on.
enum class Home { host, gpu, anywhere };

struct MemoryTraits {
  Home lies_on = Home::anywhere;
  bool system_pages = false;  ///< the system's own, which no driver has locked: drivers stage copies of them
  bool huge_pages = false;    ///< system pages, in huge ones
  bool migrates = false;      ///< a driver moves the pages to who uses them
  bool registered =
      false;  ///< system pages that a driver has locked since: GPUs have an address of their own for them
  bool uncached = false;          ///< no CPU cache holds it
  bool plain_allocation = false;  ///< on a GPU: by the runtime's plain call, so with an IPC handle

  /// Whether pages are placed where they are first touched; the driver places others when it allocates.
  [[nodiscard]] bool placed_by_touch() const { return system_pages || registered || migrates; }

  bool operator==(const MemoryTraits&) const = default;
  auto operator<=>(const MemoryTraits&) const = default;
};

/// Rates are typical ones in GB/s, for estimates of time alone; 0: that of the memories at its ends.
struct MethodTraits {
  bool stages = false;        ///< copies between GPUs without peer access go through the host
  bool maps_members = false;  ///< members map one another's memory: they are on one host
  bool by_mpi = false;        ///< calls MPI, which wants processes that its own launcher started
  bool takes_empty = false;   ///< messages of 0 bytes too
  bool answered = false;  ///< a send is answered: its time is a round trip, unless its call says otherwise
  bool migrates = false;  ///< what it times is pages that migrate, each time from where the plan says
  bool leaves_pages = false;  ///< pages that can migrate stay where they are
  bool both_ways = false;     ///< one flow moves bytes both ways at once
  bool dependent = false;     ///< operations that wait for one another
  double host_gbps = 0;       ///< of host memory
  double gpu_gbps = 0;        ///< between GPUs
  double fill_gbps = 0;  ///< filling and checking host memory, where that is not as fast as the method itself
  double cpu_fill_gbps = 0;     ///< the same where CPUs drive the flow
  /// Of a layer above: the method that it hands its bytes to.
  std::string_view calls{};  // NOLINT(readability-redundant-member-init): lets initialisers leave it out
};

/// Of the memories and methods that measured and described machines share, and those of other programs; the defaults for
/// any other name. A memory or method whose name is not among them states its own: Memory::traits, Method::traits.
[[nodiscard]] MemoryTraits standard_memory_traits(std::string_view name);
[[nodiscard]] MethodTraits standard_method_traits(std::string_view name);

}  // namespace linkscope
