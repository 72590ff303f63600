// CpuSet: CPUs that threads may run on, as the kernel's calls take them.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <vector>

namespace linkscope::host {

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
