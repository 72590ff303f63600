// The methods that copy by calls of the driver, those that copy regions, and those between two processes of a node.
#pragma once

#include <memory>

#include "model/method.hpp"

namespace linkscope::gpu {

class GpuContext;

/// The DMA engines, by cudaMemcpyAsync or hipMemcpyAsync. The executor is the device of the stream. Between two GPUs,
/// parameter peer_access says whether the copy may go straight (on) or the driver stages it through host memory (off);
/// it is switched for both devices of the pair when the flow is prepared. Copies of pageable or managed memory, staged
/// ones and synchronous calls keep the calling thread busy: such a lane is enqueued after the gate has opened, by a
/// thread of its own, and its span holds that cost. A synchronous call runs on the default stream; where it may return
/// before the bytes are there (between two places on GPUs, out of staged memory) the stream is waited for as well, which
/// is inside the span.
Method copy_engine(const std::shared_ptr<GpuContext>& context);

/// `count` buffers of an equal share of the flow's bytes each, which are apart from one another in the arena, as rows
/// of a region. Parameter `api` says how: one call for all (batch), a copy for each (loop), or one kernel (kernel).
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

}  // namespace linkscope::gpu
