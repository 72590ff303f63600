// The host backend: what the CPUs and memory of this machine offer, with its methods and memories as the catalog lists
// them.
#pragma once

#include <memory>

#include "backend/host/context.hpp"
#include "model/backend.hpp"
#include "model/method.hpp"

namespace linkscope::host {

/// The backend without methods and memories, which the catalog adds, and what they are made with.
struct HostBackend {
  Backend backend;
  std::shared_ptr<HostContext> context;
};

/// Reads the machine. Throws Error{broken} where this process may run on no CPU.
HostBackend open();

/// Starts flows of CPU threads (host_gate.cpp); the backend has one.
[[nodiscard]] std::unique_ptr<Gate> host_gate(std::shared_ptr<HostContext> context);

/// Each thread copies one contiguous share, cut at cache lines, with one call of memcpy per repeat.
[[nodiscard]] Method memcpy_copy(const std::shared_ptr<HostContext>& context);
/// Threads sum all words of the source, with the widest vectors of the CPU. The sum is checked against the pattern's.
[[nodiscard]] Method cpu_read(const std::shared_ptr<HostContext>& context);
/// Threads write the pattern into the destination, generated in registers on the way (an addition, a shift and an
/// exclusive or for each vector).
[[nodiscard]] Method cpu_write(const std::shared_ptr<HostContext>& context);
/// Each end's process has a part, one thread beside its memory. The receiver uses a message where it lies: nothing is
/// copied twice, as MPI may do to fill memory of the receiver's choice.
[[nodiscard]] Method shm_copy(const std::shared_ptr<HostContext>& context);
/// One thread follows pointers through `bytes` of the source in a random order that no prefetcher foresees.
/// A transfer is `hops` loads and goes on where the last one ended. The order and its defaults are those of
/// google/multichase (see ChaseOrder), whose figures it reproduces.
[[nodiscard]] Method host_pointer_chase(const std::shared_ptr<HostContext>& context);
/// One call on a block of flow.bytes of the memory that the destination names. No page is touched.
[[nodiscard]] Method host_allocate(const std::shared_ptr<HostContext>& context);
[[nodiscard]] Method host_free(const std::shared_ptr<HostContext>& context);
/// A block of flow.bytes of the memory that the destination names, written from end to end.
[[nodiscard]] Method host_first_touch(const std::shared_ptr<HostContext>& context);
/// One CPU thread copies host memory, for real. The parameter `inject` asks for a fault: crash ends the process, hang
/// never returns, corrupt damages a byte, error throws Error{broken}.
[[nodiscard]] Method fake_copy(const std::shared_ptr<HostContext>& context);

/// Allocates under the system's own policy for transparent huge pages, because an application's malloc does; the row
/// notes how much of it lay in huge pages.
[[nodiscard]] std::unique_ptr<Memory> pageable_memory(std::shared_ptr<HostContext> context);
/// Pages that other processes of this host can map.
[[nodiscard]] std::unique_ptr<Memory> shm_memory(std::shared_ptr<HostContext> context);
/// Allocates from the huge page pool (MAP_HUGETLB) where the node has enough free, else transparent huge pages by
/// madvise, checked in /proc/self/smaps. The row notes which it was.
[[nodiscard]] std::unique_ptr<Memory> huge_memory(std::shared_ptr<HostContext> context);

}  // namespace linkscope::host
