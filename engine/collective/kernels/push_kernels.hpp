// Push kernels: sums whose members only ever store to one another, chunk by chunk.
#pragma once

#include <cstddef>

#include "collective/protocol/push_protocol.hpp"
#include "collective/protocol/workspace.hpp"
#include "model/elements.hpp"

namespace linkscope::direct {

/// One member's share of one launch.
struct PushWork {
  PeerTable peers;
  WaitLimits wait_limit;
  PushCut cut;
  const std::byte* source = nullptr;    ///< this member's
  std::byte* checked_source = nullptr;  ///< the same, which a self-check writes
  std::byte* destinations[most_members] =
      {};                    ///< by member, of `readers` and its own; null where there is none
  Bytes destination_at = 0;  ///< what of the whole a destination begins with
};

/// void(PushWork, Launch) for a grid of 2 * cut.pairs blocks, up to most_blocks, and up to push_threads threads. A
/// A self-check is of int32: `checked_source` is written anew before each call, all that comes to `destinations[me]` is
/// checked after it.
const void* push_kernel(ElementType type, SelfCheck self_check);
inline constexpr unsigned push_threads = 512;
/// Of which that many are resident on a multiprocessor.
inline constexpr unsigned push_blocks_each = 2;

}  // namespace linkscope::direct
