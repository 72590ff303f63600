// The kernels of direct collectives, and what each is given: one member's share of one launch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collective/protocol/pieces.hpp"
#include "collective/protocol/push_protocol.hpp"
#include "collective/protocol/ring_protocol.hpp"
#include "collective/protocol/workspace.hpp"
#include "model/collective.hpp"

namespace linkscope::direct {

// Packets: data travel with their flags.

/// A flag is carried by 8 bytes, of which 4 are data (one thread's), or by 128, of which 120 are: NCCL's LL and LL128.
enum class Format { pairs, lines };
/// The size of a format's packets.
struct PacketSize {
  unsigned threads = 1;  ///< that share one
  unsigned load_bytes = 8;
  unsigned packet_bytes = 16;
};
PacketSize packet_size(Format format);

/// One member's share of one launch, as its kernel sees it.
struct PacketWork {
  PeerTable peers;
  Pieces pieces;
  Staging staging;
  WaitLimits wait_limit;
  const std::byte* source = nullptr;
  std::byte* destination = nullptr;
};

/// void(PacketWork, LaunchArguments), for any number of blocks up to most_blocks and up to packet_threads threads.
/// Two trips are for sums alone, lines for vectors alone.
const void* packet_kernel(Format format, Trips trips, Combine combine, ElementType type, Layout layout);
inline constexpr unsigned packet_threads = 512;

// Peers: kernels load from and store to the other members' buffers, between two barriers.

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

// Chunks: members store chunks to one another, with flags after them.

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
