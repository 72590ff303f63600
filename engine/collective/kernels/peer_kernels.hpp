// Peer kernels: collectives whose kernels load from and store to the other members' buffers, between two barriers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collective/protocol/pieces.hpp"
#include "collective/protocol/workspace.hpp"
#include "model/collective.hpp"

namespace linkscope::direct {

/// One member's share of one launch: jobs of `bytes` each. One job: the sum over all sources (or the one source) is
/// stored to all destinations. Several: job j copies source j to destination j.
struct PeerWork {
  PeerTable peers;
  WaitLimits wait_limit;
  const std::byte* sources[most_members] = {};
  std::byte* destinations[most_members] = {};
  int source_count = 0;
  int destination_count = 0;
  int jobs = 0;
  bool is_barrier = false;
  Bytes bytes = 0;
  Layout layout =
      Layout::vectors;  ///< vectors: all of them start at multiples of 16 bytes; ends may be anywhere
};

/// one_shot: every member makes what it needs; two_shot: every member makes a share of what all need and gives it to
/// all.
enum class Division { one_shot, two_shot };

/// `shape` from the side of member `me`, its buffers by this member's addresses, in member order. Null where a member
/// has none. `peers` and `wait_limit` are left out.
PeerWork peer_work(const CollectiveShape& shape, Division division, int me, const std::byte* const* sources,
                   std::byte* const* destinations);

/// void(PeerWork, LaunchArguments) for any number of blocks up to most_blocks and up to peer_threads threads.
const void* peer_kernel(Combine combine, ElementType type);
inline constexpr unsigned peer_threads = 512;
/// Bytes that one thread moves at a time.
inline constexpr Bytes peer_thread_bytes = 4 * vector_bytes;

}  // namespace linkscope::direct
