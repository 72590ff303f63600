// The methods of this backend, each a function that makes its row.
#pragma once

#include <memory>

#include "backend/gpu/memory/gpu_memory.hpp"
#include "model/method.hpp"

namespace linkscope::gpu {

// Copies by calls of the driver, of regions, and between two processes of a node.

/// The DMA engines, by cudaMemcpyAsync or hipMemcpyAsync. The executor is the device of the stream. Between two GPUs,
/// parameter peer_access says whether the copy may go straight (on) or the driver stages it through host memory (off);
/// it is switched for both devices of the pair when the flow is prepared. Copies of pageable or managed memory, staged
/// ones and synchronous calls keep the calling thread busy: such a lane is enqueued after the gate has opened, by a
/// thread of its own, and its span holds that cost. A synchronous call runs on the default stream; where it may return
/// before the bytes are there (between two places on GPUs, out of staged memory) the stream is waited for as well, which
/// is inside the span.
Method copy_engine(const std::shared_ptr<GpuContext>& context);

/// `count` buffers of an equal share of the flow's bytes each, which are apart from one another in the arena, as rows
/// of a region. Parameter `api` says how: one call for all (batch), a copy for each (loop), one kernel (kernel, bulk),
/// or one 2-D copy (2d). `scatter` shuffles the buffers, in another order at either end.
/// More than 256 copies cannot wait behind a closed gate: launch cost is inside then, but for a kernel, and for a batch
/// whose one call comes back from a stream that is held.
Method copy_batch(const std::shared_ptr<GpuContext>& context);

// Regions are strided alike at both ends; parameter peer_access as of copy-engine.

/// One call per plane. A region of more than 256 planes cannot wait behind a closed gate: launch cost is inside then.
Method copy_engine_2d(const std::shared_ptr<GpuContext>& context);
/// One call; between GPUs, with CUDA, the one for peers.
Method copy_engine_3d(const std::shared_ptr<GpuContext>& context);
/// A kernel loads a region and stores it to its like place. The executor may be the source's GPU (push), the
/// destination's (pull) or any that reaches both.
Method kernel_strided(const std::shared_ptr<GpuContext>& context);
/// A kernel on the source's GPU packs the region into a dense buffer there, one copy takes it to a dense buffer on the
/// destination's GPU, a kernel there unpacks it. Copy and the executor's kernel are on the executor's stream; the other
/// GPU's kernel is on a stream of its own, ordered before or behind by events. One region after another: the next is
/// packed when the last has been unpacked.
///
/// Where one end is host memory there is no kernel on that side: the one copy is a 3-D one between the dense buffer on
/// the GPU and the strided host memory. The executor is an end.
Method pack_copy_unpack(const std::shared_ptr<GpuContext>& context);

// The process of flow.rank, which holds one end, maps the other end and does all of the work as a method of one process
// would: it pushes where it holds the source and pulls where it holds the destination. The other process arms and
// checks its own end and is otherwise idle. Handles are opened and closed outside every measured span.

Method ipc_copy(const std::shared_ptr<GpuContext>& context);
Method ipc_kernel(const std::shared_ptr<GpuContext>& context);

// Transfers that are kernels which sweep over memory.

/// The executor may be the source's GPU (push), the destination's (pull) or any that reaches both.
Method kernel_copy(const std::shared_ptr<GpuContext>& context);

/// Verified by the exact sum, modulo 2^64, of every word read in every repeat.
Method kernel_read(const std::shared_ptr<GpuContext>& context);

/// Stores the pattern, which threads compute: nothing is read.
Method kernel_write(const std::shared_ptr<GpuContext>& context);

/// Alternate warps copy alternate pieces (a warp's width of 16-byte vectors) in opposite directions, as nvbandwidth's
/// bidirectional kernel does. flow.bytes are those of both ways together, and the size of each buffer: after the
/// exchange both hold the same.
Method kernel_exchange(const std::shared_ptr<GpuContext>& context);

/// Bytes go from the source to shared memory and from there to the destination, never through registers: one thread per
/// warp keeps a ring of pieces going, so few blocks are enough. The executor is as of kernel-copy. The last bytes of a
/// size that is no multiple of 16 are plain stores.
Method kernel_bulk_copy(const std::shared_ptr<GpuContext>& context);

/// flow.bytes is the number of operations times their width; parameter `addresses` says over how many words they
/// spread. Checked exactly: sums after add and cas; after exchange nothing that was written is lost, what came back and
/// what stands there together are what was there and what was written. cas takes at most 32 threads to a word unless
/// blocks or threads say otherwise: its failed tries grow with the square of those that want the same one.
///
/// The scope is the node's (system) where the words are not the executor's own. That is refused where the link cannot
/// carry operations as such; with scope `device`, which is atomic among the executor's threads, it is not.
Method kernel_atomic(const std::shared_ptr<GpuContext>& context);

/// Arrays a and b (add and triad) are in the source, the result c in the destination, and the executor is any GPU that
/// reaches them. So "arrays on the peer, kernel here" is one flow (both ends on the peer) and "remote read, local write"
/// another. flow.bytes is one array; what STREAM counts, bytes read plus written, is touched_bytes. The arrays hold whole
/// numbers, so that every result is exact and is compared exactly.
Method stream(const std::shared_ptr<GpuContext>& context);

// Dependent accesses.

/// The initiator (executor) stores to a flag in the destination's memory, where the responder polls, and polls a flag
/// in the source's memory, where the responder answers: memory of either GPU, or page-locked host memory. Stores
/// and loads are of system scope, relaxed or release and acquire (parameter `ordering`). One operation is one way: half
/// a round trip; a transfer is `round_trips` round trips inside one launch on each side. Only the initiator's launch is
/// timed; the responder is up before.
Method ping_pong(const std::shared_ptr<GpuContext>& context);

/// A ring of pointers, one every `stride` bytes over flow.bytes of the source, in address order or scattered by a
/// bijection. One thread at a time walks `hops` of them, on from where the last walk ended. A transfer is one walk on
/// each of an eighth of the multiprocessors; successive transfers go round so that all serve equally often: their
/// distances from a memory differ by some per cent, and the mean over all of them is what nvbandwidth gives.
///
/// A launch empties first-level caches, so a walk of a ring that may fit one begins with a lap around all of it. What
/// the laps took is known from the multiprocessor's cycle counter and taken out of the span: a small ring's figure is
/// that of the caches it fits, not a mixture with first loads.
///
/// A walk is a launch, and the gap between two launches in a stream, about 1 us, is inside the figure: below 0.2 % of
/// 1024 hops over a link. In local memory hops default to more. Loads are ordinary ones, cached wherever the device
/// caches such memory. A CPU of its node lays the ring in host memory, the executor in any other.
Method gpu_pointer_chase(const std::shared_ptr<GpuContext>& context);
/// The same by the copy unit beside the multiprocessor: a pointer is there when its bulk copy is.
Method bulk_chase(const std::shared_ptr<GpuContext>& context);

// Computation.

/// C = A B of bfloat16 matrices by cuBLAS, with sums in float32, in memory of its own: what shares the multiprocessors
/// with communication. A and B hold whole numbers from -1 to 2, so that C is exact whatever order the library adds in;
/// such data draw less power than random ones. Up to 65536 elements of C are checked, one of each stretch. The library
/// is looked for by the loader and then in `folders`, when a plan first asks for a product. Parameter `sms` is
/// cublasSetSmCountTarget's: the kernel is laid out for so many multiprocessors, and leaves the others free.
Method matrix_product(const std::shared_ptr<GpuContext>& context, std::vector<std::string> folders);

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
/// One copy between host memory and the executor, waited for, and what is done for it alone: parameter `setup`. Ordinary
/// host memory is page-locked before it and unlocked behind it, or the destination is allocated and freed. What arrived
/// in an allocated destination is saved for verification, which is taken out of the span. `first-use` times the copy
/// alone, of memory that is page-locked anew before each start.
Method copy_with_setup(const std::shared_ptr<GpuContext>& context, const RuntimeCallTable& calls);
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
