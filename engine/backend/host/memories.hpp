// The host's memories, as the catalog lists them.
#pragma once

#include <memory>

#include "backend/host/context.hpp"
#include "model/method.hpp"

namespace linkscope::host {

/// Allocates under the system's own policy for transparent huge pages, because an application's malloc does; the row
/// notes how much of it lay in huge pages.
[[nodiscard]] std::unique_ptr<Memory> pageable_memory(std::shared_ptr<HostContext> context);
/// Pages that other processes of this host can map.
[[nodiscard]] std::unique_ptr<Memory> shm_memory(std::shared_ptr<HostContext> context);
/// Allocates from the huge page pool (MAP_HUGETLB) where the node has enough free, else transparent huge pages by
/// madvise, checked in /proc/self/smaps. The row notes which it was.
[[nodiscard]] std::unique_ptr<Memory> huge_memory(std::shared_ptr<HostContext> context);

}  // namespace linkscope::host
