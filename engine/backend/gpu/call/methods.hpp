// The methods that time calls, and those that time pages that migrate.
#pragma once

#include <memory>

#include "backend/gpu/memory/runtime_allocation.hpp"
#include "model/method.hpp"

namespace linkscope::gpu {

class GpuContext;

// Calls into a stream that is not full.

/// A launch of a kernel of one thread with a given number of bytes of arguments. The kernel counts its launches.
Method kernel_launch(const std::shared_ptr<GpuContext>& context);
/// Waiting for what has ended already, or for a kernel launched just before: a device, a stream or an event.
Method synchronize(const std::shared_ptr<GpuContext>& context);
/// Recording one event, with timing.
Method event_record(const std::shared_ptr<GpuContext>& context);

// The nodes of a graph, one behind the other, are kernels of one thread or copies within the device's memory: of
// flow.bytes, or of a region of 8 rows in 8 planes with flow.bytes in all.

/// Each call makes an executable graph of its own; the first of a start is launched afterwards to see that it works.
Method graph_instantiate(const std::shared_ptr<GpuContext>& context);
Method graph_launch(const std::shared_ptr<GpuContext>& context);

// One call on a block of flow.bytes of the memory that the destination names. A CPU of the destination's node calls
// where that is one, else of the node beside the GPU. `calls`: those of the catalog's memories.

Method gpu_allocate(const std::shared_ptr<GpuContext>& context, const RuntimeCallTable& calls);
Method gpu_free(const std::shared_ptr<GpuContext>& context, const RuntimeCallTable& calls);
/// Page-locking memory that exists and has been touched.
Method register_memory(const std::shared_ptr<GpuContext>& context);
Method unregister_memory(const std::shared_ptr<GpuContext>& context);
/// A GPU writes fresh pageable, huge or managed blocks by a kernel; CPUs write fresh managed ones by memset (pageable
/// and huge ones are the host backend's own). Managed blocks are in allocations of whole 2 MiB, and are touched over
/// their own bytes alone.
Method gpu_first_touch(const std::shared_ptr<GpuContext>& context);

// Pages that are at home on the source's device. Before every start they are sent home.

/// The executor, a GPU's kernel or CPU threads, touches each page, and the system brings it over. All of flow.bytes
/// count, whether a page's one word is touched or all of them. Managed memory, or the system's where GPUs can reach it.
/// Source placement first-touch: a bound source has its pages mapped rather than moved.
Method page_fault(const std::shared_ptr<GpuContext>& context);
/// One thread of the executor, a GPU or a CPU, follows pointers: every hop faults, and its answer is needed before the
/// next. A transfer walks all of flow.bytes once, a hop for each stride; time is given per hop. Memories as for
/// page-fault.
Method fault_chase(const std::shared_ptr<GpuContext>& context);
/// Managed pages are sent by cudaMemPrefetchAsync or hipMemPrefetchAsync to the executor, a GPU, or, where they are at
/// the executor, to the host. There is no destination memory, since the pages themselves go. The call may keep its
/// thread busy: it is enqueued after the gate has opened and the span holds that cost.
Method prefetch(const std::shared_ptr<GpuContext>& context);

}  // namespace linkscope::gpu
