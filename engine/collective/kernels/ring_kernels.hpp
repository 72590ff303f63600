// Ring kernels: collectives whose members store to the next one alone, chunk by chunk.
#pragma once

#include <cstddef>

#include "collective/protocol/ring_protocol.hpp"
#include "collective/protocol/workspace.hpp"
#include "model/elements.hpp"

namespace linkscope::direct {

/// One member's share of one launch.
struct RingWork {
  PeerTable peers;
  WaitLimits wait_limit;
  RingCut cut;
  const std::byte* source = nullptr;      ///< this member's; null where it sends nothing of its own
  std::byte* checked_source = nullptr;    ///< the same, which a self-check writes
  std::byte* destination = nullptr;       ///< this member's; null where nothing comes to it
  std::byte* next_destination = nullptr;  ///< the next member's
  Bytes source_at = 0;                    ///< what of the whole a source begins with
  Bytes destination_at = 0;               ///< and a destination
};

/// void(RingWork, Launch) for a grid of cut.workers blocks, up to most_blocks, and up to ring_threads threads. A
/// A self-check is of int32, out of place: `checked_source` is written anew before each call, all that comes to
/// `destination` is checked after it.
const void* ring_kernel(ElementType type, SelfCheck self_check);
inline constexpr unsigned ring_threads = 512;
/// Of which that many are resident on a multiprocessor.
inline constexpr unsigned ring_blocks_each = 2;

}  // namespace linkscope::direct
