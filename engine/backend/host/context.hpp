// HostContext: what every host method, memory and buffer shares: the topology, the threads on it, what they reach.
#pragma once

#include <functional>
#include <map>
#include <set>

#include "backend/host/topology.hpp"
#include "backend/host/workers.hpp"
#include "base/error.hpp"
#include "model/buffer.hpp"
#include "model/device.hpp"

namespace linkscope::host {

/// Tells whether CPUs load and store memory of a device that is no NUMA node; who knows the device gives it.
using Reach = std::function<Support(const Endpoint&)>;

/// The arenas of a copy between CPUs' memories, which share what HostContext::rotation_bytes() says.
inline constexpr Bytes both_ends = 2;

/// Lives as long as any buffer or transfer made with it (they hold it, or a gpu context that holds it).
class HostContext {
 public:
  HostContext() : HostContext(Topology::read()) {}
  explicit HostContext(Topology topology);

  [[nodiscard]] const Topology& topology() const { return topology_; }
  /// Threads on the node; on the nearest node with CPUs where it has none or does not exist.
  [[nodiscard]] WorkerPool& workers(int node);
  /// Tells whether `device` is a NUMA node with CPUs that may drive a flow.
  [[nodiscard]] Support can_execute(const DeviceId& device) const;
  /// Tells whether `device` is a NUMA node with memory that may be allocated.
  [[nodiscard]] Support can_hold(const DeviceId& device) const;
  /// Tells whether CPUs can load and store memory placed as `where` says: on NUMA nodes, and wherever the `reach` given
  /// to widen() says yes.
  [[nodiscard]] Support reachable(const Endpoint& where) const;
  /// Asks `reach` about memory of devices that are no NUMA nodes.
  void widen(Reach reach) { reach_ = std::move(reach); }
  /// Bytes of all last-level caches of a NUMA node; 0 for other devices.
  [[nodiscard]] Bytes last_level_cache(const DeviceId& device) const;
  /// Bytes through which CPUs' work on the given NUMA nodes must cycle so that no cache serves it, in all its arenas
  /// together: eight times the last-level caches of all of them, as far as a sixteenth of the memory that this process
  /// may take reaches.
  [[nodiscard]] Bytes rotation_bytes(const std::set<DeviceId>& devices) const;

 private:
  Topology topology_;
  std::map<int, WorkerPool> pools_;  // by node, those with CPUs
  Reach reach_;
  Bytes most_rotated_;  // the same for all cases of a process
};

}  // namespace linkscope::host
