// Packet kernels: collectives whose data travel with their flags.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collective/protocol/pieces.hpp"
#include "collective/protocol/workspace.hpp"
#include "model/collective.hpp"

namespace linkscope::direct {

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

}  // namespace linkscope::direct
