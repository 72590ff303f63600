// Asks the kernel for it; the kernel itself leaves out what the process may not use.
#include "backend/host/affinity.hpp"

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <memory>

namespace linkscope::host {
namespace {

using CpuSet = std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)>;

/// An empty one, with room for CPUs 0 to `count` - 1.
CpuSet make_set(std::size_t count) {
  CpuSet set(CPU_ALLOC(count), [](cpu_set_t* s) { CPU_FREE(s); });
  CPU_ZERO_S(CPU_ALLOC_SIZE(count), set.get());
  return set;
}

}  // namespace

void keep_to(const std::vector<int>& cpus) {
  const auto highest = std::max_element(cpus.begin(), cpus.end());
  if (highest == cpus.end() || *highest < 0) return;
  const auto count = static_cast<std::size_t>(*highest) + 1;
  const CpuSet set = make_set(count);
  const std::size_t size = CPU_ALLOC_SIZE(count);
  for (const int cpu : cpus) {
    if (cpu >= 0) CPU_SET_S(static_cast<std::size_t>(cpu), size, set.get());
  }
  static_cast<void>(sched_setaffinity(0, size, set.get()));
}

std::vector<int> allowed_cpus() {
  constexpr std::size_t most = 8192;  // what Linux can be built for
  const CpuSet set = make_set(most);
  const std::size_t size = CPU_ALLOC_SIZE(most);
  std::vector<int> cpus;
  if (sched_getaffinity(0, size, set.get()) != 0) return cpus;
  for (std::size_t cpu = 0; cpu < most; ++cpu) {
    if (CPU_ISSET_S(cpu, size, set.get())) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

}  // namespace linkscope::host
