// The methods that time dependent accesses.
#pragma once

#include <memory>

#include "backend/gpu/gpu_method.hpp"

namespace linkscope::gpu {

/// The initiator (executor) stores to a flag in the destination's memory, where the responder polls, and polls a flag
/// in the source's memory, where the responder answers: memory of either GPU, or page-locked host memory. Stores
/// and loads are of system scope, relaxed or release and acquire (parameter `ordering`). One operation is one way: half
/// a round trip; a transfer is `round_trips` round trips inside one launch on each side. Only the initiator's launch is
/// timed; the responder is up before.
Method ping_pong(const std::shared_ptr<GpuContext>& gpus);

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
Method gpu_pointer_chase(const std::shared_ptr<GpuContext>& gpus);

}  // namespace linkscope::gpu
