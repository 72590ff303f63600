// Context: what every host method, memory and buffer shares: the topology and the threads on it.
#pragma once

#include <map>

#include "backend/host/topology.hpp"
#include "backend/host/workers.hpp"
#include "model/device.hpp"
#include "model/support.hpp"

namespace linkscope::host {

/// Lives as long as any buffer or transfer made with it (they hold it, or a gpu context that holds it).
class Context {
 public:
  Context() : Context(Topology::read()) {}
  explicit Context(Topology topology);

  [[nodiscard]] const Topology& topology() const { return topology_; }
  /// Threads on the node; on the nearest node with CPUs where it has none or does not exist.
  [[nodiscard]] WorkerPool& workers(int node);
  /// Whether `device` is a NUMA node with CPUs that may drive a flow.
  [[nodiscard]] Support can_execute(const DeviceId& device) const;
  /// Whether `device` is a NUMA node with memory that may be allocated.
  [[nodiscard]] Support can_hold(const DeviceId& device) const;
  /// Bytes of the largest last-level caches among the given NUMA nodes.
  [[nodiscard]] Bytes largest_cache(std::initializer_list<DeviceId> devices) const;

 private:
  Topology topology_;
  std::map<int, WorkerPool> pools_;  // by node, those with CPUs
};

}  // namespace linkscope::host
