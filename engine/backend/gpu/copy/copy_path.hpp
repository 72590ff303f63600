// Copies by the driver's calls: what they need between their two ends, and how such a call behaves.
#pragma once

#include <functional>

#include "backend/gpu/context.hpp"
#include "backend/gpu/transfer.hpp"
#include "model/flow.hpp"
#include "model/method.hpp"

namespace linkscope::gpu {

inline constexpr Parameter peer_access =
    word("peer_access", "on|off", "between two GPUs; off: the driver stages through host memory");

/// Says whether the driver copies between the flow's two ends, as parameter `peer_access` asks.
[[nodiscard]] Support has_copy_path(const GpuContext& context, const Flow& flow);
/// Switches peer access between the flow's two GPUs as the flow asks, both ways, and keeps it so. Throws
/// Error{unsupported} where another flow keeps it otherwise.
[[nodiscard]] PeerHold open_copy_path(GpuContext& context, const Flow& flow);
/// Enqueue::blocks where the driver stages the copy, and from host to host: there even an asynchronous call returns
/// only when the copy is done.
[[nodiscard]] Enqueue enqueueing_of_copy(const Flow& flow);

/// A small copy that wakes the engine which will carry a flow, between memory that the flow itself never uses: it can
/// neither deliver what the measured copies should, nor bring into a cache what was flushed.
struct LeadIn {
  const std::byte* source = nullptr;
  std::byte* destination = nullptr;
  Bytes bytes = 0;
};

/// A lead-in of at most `most` bytes between the flow's two devices, in its direction.
[[nodiscard]] LeadIn lead_in_of(GpuContext& context, const Flow& flow, Bytes most);

/// Calls `copy`, a flow's first. Throws Error{unsupported} with the driver's words where the driver refuses it on the
/// spot, so that such a pair of memories becomes a skipped row.
void copy_first(const Buffer& source, const Buffer& destination, const std::function<void()>& copy);

/// Writes back what arming left in CPU caches of memory that every repeat uses. Lines that stand modified in the caches
/// of the CPUs that filled them come over the link at half its rate and less, until they have left those caches; with
/// few samples that would be the figure. Does nothing where this CPU cannot flush.
void settle_caches(const Arenas& arenas);

/// The row's note on a transfer that is enqueued behind an open gate.
inline constexpr const char* launch_cost_inside =
    "enqueued after the gate: launch cost is inside [launch-inside]";

}  // namespace linkscope::gpu
