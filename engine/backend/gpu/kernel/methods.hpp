// The methods whose transfers are kernels that sweep over memory.
#pragma once

#include <memory>

#include "backend/gpu/gpu_method.hpp"

namespace linkscope::gpu {

/// The executor may be the source's GPU (push), the destination's (pull) or any that reaches both.
Method kernel_copy(const std::shared_ptr<GpuContext>& gpus);

/// Verified by the exact sum, modulo 2^64, of every word read in every repeat.
Method kernel_read(const std::shared_ptr<GpuContext>& gpus);

/// Stores the pattern, which threads compute: nothing is read.
Method kernel_write(const std::shared_ptr<GpuContext>& gpus);

/// Alternate warps copy alternate pieces (a warp's width of 16-byte vectors) in opposite directions, as nvbandwidth's
/// bidirectional kernel does. flow.bytes are those of both ways together, and the size of each buffer: after the
/// exchange both hold the same.
Method kernel_exchange(const std::shared_ptr<GpuContext>& gpus);

/// Bytes go from the source to shared memory and from there to the destination, never through registers: one thread per
/// warp keeps a ring of pieces going, so few blocks are enough. The executor is as of kernel-copy. The last bytes of a
/// size that is no multiple of 16 are plain stores.
Method kernel_bulk_copy(const std::shared_ptr<GpuContext>& gpus);

/// flow.bytes is the number of operations times their width; parameter `addresses` says over how many words they
/// spread. Checked exactly: sums after add and cas; after exchange nothing that was written is lost, what came back and
/// what stands there together are what was there and what was written. cas takes at most 32 threads to a word unless
/// blocks or threads say otherwise: its failed tries grow with the square of those that want the same one.
///
/// The scope is the node's (system) where the words are not the executor's own. That is refused where the link cannot
/// carry operations as such; with scope `device`, which is atomic among the executor's threads, it is not.
Method kernel_atomic(const std::shared_ptr<GpuContext>& gpus);

/// Arrays a and b (add and triad) are in the source, the result c in the destination, and the executor is any GPU that
/// reaches them. So "arrays on the peer, kernel here" is one flow (both ends on the peer) and "remote read, local write"
/// another. flow.bytes is one array; what STREAM counts, bytes read plus written, is touched_bytes. The arrays hold whole
/// numbers, so that every result is exact and is compared exactly.
Method stream(const std::shared_ptr<GpuContext>& gpus);

}  // namespace linkscope::gpu
