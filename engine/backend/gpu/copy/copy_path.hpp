// CopyPath: what copies by the driver's calls need between their two ends, and how such a call behaves.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backend/gpu/context.hpp"
#include "backend/gpu/transfer.hpp"
#include "model/flow.hpp"
#include "model/method.hpp"

namespace linkscope::gpu {

/// Parameter `peer_access`. Throws Error{bad_input} for anything but on and off.
[[nodiscard]] PeerAccess wanted_peer_access(const Flow& flow);
/// What it means, for the catalog.
std::map<std::string, std::string> copy_path_parameters();

/// Whether the driver copies between the flow's two ends, as parameter `peer_access` asks.
[[nodiscard]] Support has_copy_path(const GpuContext& context, const Flow& flow);
/// Switches peer access as the flow asks, both ways, where it goes between two GPUs, and keeps it so. Throws
/// Error{unsupported} where another flow keeps it otherwise.
[[nodiscard]] PeerHold open_copy_path(GpuContext& context, const Flow& flow);
/// Whether an asynchronous call returns before the copy is done: not where the driver stages it, nor from host to host.
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

/// Calls `first_copy`; where the driver refuses it on the spot, throws Error{unsupported} with its words, so that such
/// a pair of memories becomes a skipped row.
void refusal_is_no_support(const Buffer& source, const Buffer& destination,
                           const std::function<void()>& first_copy);

/// Writes back what arming left in CPU caches of memory that every repeat uses. Lines that stand modified in the caches
/// of the CPUs that filled them come over the link at half its rate and less, until they have left those caches; with
/// few samples that would be the figure. Nothing where this CPU cannot flush.
void settle_caches(const Arenas& arenas);

/// Where the system says the pages of either end are, for the row's notes; those that are as asked are left out.
[[nodiscard]] std::vector<std::string> residences(const Arenas& arenas);
/// What the row says of a transfer that is enqueued behind an open gate.
inline constexpr const char* launch_cost_inside =
    "enqueued after the gate: launch cost is inside [launch-inside]";

}  // namespace linkscope::gpu
