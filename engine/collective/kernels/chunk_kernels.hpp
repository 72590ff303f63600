// Chunk kernels: collectives whose members store chunks to one another, with flags after them: pushes and rings.
#pragma once

#include <cstddef>

#include "collective/protocol/push_protocol.hpp"
#include "collective/protocol/ring_protocol.hpp"
#include "collective/protocol/workspace.hpp"
#include "model/elements.hpp"

namespace linkscope::direct {

/// One member's share of one launch, as far as pushes and rings have it alike.
struct ChunkWork {
  PeerTable peers;
  WaitLimits wait_limit;
  const std::byte* source = nullptr;  ///< this member's; null where it sends nothing of its own
  Bytes source_at = 0;                ///< what of the whole a source begins with
  Bytes destination_at = 0;           ///< and a destination
};

/// Sums whose members only ever store to one another.
struct PushWork : ChunkWork {
  PushCut cut;
  std::byte* destinations[most_members] =
      {};  ///< by member, of `readers` and its own; null where there is none
};

/// Collectives whose members store to the next one alone.
struct RingWork : ChunkWork {
  RingCut cut;
  std::byte* destination = nullptr;       ///< this member's; null where nothing comes to it
  std::byte* next_destination = nullptr;  ///< the next member's
};

inline constexpr unsigned chunk_threads = 512;
/// Blocks of so many threads that are resident on a multiprocessor.
inline constexpr unsigned chunk_blocks_each = 2;

/// void(PushWork, LaunchArguments) for a grid of 2 * cut.pairs blocks, void(RingWork, LaunchArguments) for one of
/// cut.workers: up to most_blocks, of up to chunk_threads threads.
const void* push_kernel(ElementType type);
const void* ring_kernel(ElementType type);

}  // namespace linkscope::direct
