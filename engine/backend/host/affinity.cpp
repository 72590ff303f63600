// Asks the kernel for it; the kernel itself leaves out what the process may not use.
#include "backend/host/affinity.hpp"

#include <sched.h>

#include <algorithm>
#include <memory>

namespace linkscope::host {

void keep_to(const std::vector<int>& cpus) {
  const auto highest = std::max_element(cpus.begin(), cpus.end());
  if (highest == cpus.end() || *highest < 0) return;
  const auto count = static_cast<std::size_t>(*highest) + 1;
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(count),
                                                             [](cpu_set_t* s) { CPU_FREE(s); });
  const std::size_t size = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(size, set.get());
  for (const int cpu : cpus) {
    if (cpu >= 0) CPU_SET_S(static_cast<std::size_t>(cpu), size, set.get());
  }
  static_cast<void>(sched_setaffinity(0, size, set.get()));
}

}  // namespace linkscope::host
