#include "backend/host/affinity.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.hpp"

namespace linkscope::host {

CpuSet::CpuSet(const std::vector<int>& cpus) {
  const auto highest = std::max_element(cpus.begin(), cpus.end());
  const int most = highest == cpus.end() ? 0 : std::max(*highest, 0);
  sets_.resize(static_cast<std::size_t>(most) / CPU_SETSIZE + 1, cpu_set_t{});
  for (const int cpu : cpus) {
    if (cpu >= 0) CPU_SET_S(static_cast<std::size_t>(cpu), size(), sets_.data());
  }
}

CpuSet CpuSet::of_this_thread() {
  constexpr std::size_t most_sets = 1024;
  CpuSet set;
  for (std::size_t sets = 1; sets <= most_sets; sets *= 2) {
    set.sets_.assign(sets, cpu_set_t{});
    if (sched_getaffinity(0, set.size(), set.sets_.data()) == 0) return set;
    if (errno != EINVAL) break;  // it says that the kernel's set is longer
  }
  throw Error(Fault::broken, std::string("sched_getaffinity: ") + std::strerror(errno));
}

std::vector<int> CpuSet::cpus() const {
  std::vector<int> cpus;
  for (std::size_t cpu = 0; cpu < 8 * size(); ++cpu) {
    if (CPU_ISSET_S(cpu, size(), sets_.data())) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

int CpuSet::keep(pthread_t thread) const { return pthread_setaffinity_np(thread, size(), sets_.data()); }

void keep_to(const std::vector<int>& cpus) {
  if (!cpus.empty()) static_cast<void>(CpuSet(cpus).keep(pthread_self()));
}

}  // namespace linkscope::host
