// Affinity: which CPUs this process keeps to.
#pragma once

#include <vector>

namespace linkscope::host {

/// The calling thread and those it starts from now on run on `cpus` alone, as far as this process may use them; where it may use
/// none of them, everything stays as it is. Topology::read sees the outcome.
void keep_to(const std::vector<int>& cpus);

}  // namespace linkscope::host
