// Topology: NUMA nodes with their CPUs, memory, caches and distances, as this process may use them; sets of CPUs.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <map>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace linkscope::host {

/// One NUMA node. Figures the system does not tell are 0 or empty.
struct Node {
  int index = 0;
  std::vector<int> cpus;  ///< that this process may run on, one thread of every core before the second ones
  Bytes memory_bytes = 0;
  bool usable_memory = true;     ///< the cpuset lets this process allocate here
  Bytes l1_bytes = 0;            ///< data cache of one CPU
  Bytes l2_bytes = 0;            ///< as one CPU sees it
  Bytes llc_bytes = 0;           ///< all last-level caches of the node's CPUs together
  std::map<int, int> distances;  ///< node -> distance, 10 = local
};

/// Read once. A machine without NUMA (or where libnuma says so) is one node 0 that holds everything.
class Topology {
 public:
  /// Asks libnuma, sched_getaffinity and sysfs. Throws Error{broken} where no CPU may be used at all.
  static Topology read();
  /// Holds the nodes that are given, ascending by index.
  Topology(std::vector<Node> nodes, std::string cpu_name, bool virtual_machine = false)
      : nodes_(std::move(nodes)), cpu_name_(std::move(cpu_name)), virtual_machine_(virtual_machine) {}

  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  /// Null where there is no such node.
  [[nodiscard]] const Node* find(int index) const;
  /// The nearest node with CPUs (itself where it has some): memory-only nodes are worked on from there.
  [[nodiscard]] const Node& nearest_with_cpus(int index) const;
  [[nodiscard]] const std::string& cpu_name() const { return cpu_name_; }
  /// Tells whether the CPU says that a hypervisor runs this system: sizes of caches may be anything then.
  [[nodiscard]] bool virtual_machine() const { return virtual_machine_; }

 private:
  std::vector<Node> nodes_;
  std::string cpu_name_;
  bool virtual_machine_;
};

/// Holds CPUs of any number: the C library's own type ends at 1,024.
class CpuSet {
 public:
  explicit CpuSet(const std::vector<int>& cpus);
  /// Returns where the calling thread may run; the kernel leaves out what cgroups forbid. Throws Error{broken}.
  [[nodiscard]] static CpuSet of_this_thread();

  /// Ascending.
  [[nodiscard]] std::vector<int> cpus() const;
  /// Lets `thread` run on these CPUs alone. The system's error code, 0 where it did.
  [[nodiscard]] int keep(pthread_t thread) const;

 private:
  CpuSet() = default;
  [[nodiscard]] std::size_t size() const { return sets_.size() * sizeof(cpu_set_t); }

  std::vector<cpu_set_t> sets_;  // one after another, for the C library's macros that take a size
};

/// The calling thread and those it starts from now on run on `cpus` alone, as far as this process may use them; where
/// it may use none of them, everything stays as it is. Topology::read sees the outcome.
void keep_to(const std::vector<int>& cpus);

}  // namespace linkscope::host
