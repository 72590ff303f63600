// Affinity: which CPUs this process keeps to.
#pragma once

#include <vector>

namespace linkscope::host {

/// The calling thread and those it starts from now on run on `cpus` alone, as far as this process may use them; where
/// it may use none of them, everything stays as it is. Topology::read sees the outcome.
void keep_to(const std::vector<int>& cpus);

/// The CPUs that the calling thread may run on, ascending; none where the system does not say.
std::vector<int> allowed_cpus();

}  // namespace linkscope::host
