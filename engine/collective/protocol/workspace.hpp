// Workspace: the memory of each member's GPU through which the members' kernels find one another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.hpp"
#include "collective/protocol/pieces.hpp"

namespace linkscope::direct {

inline constexpr unsigned most_blocks = 512;
inline constexpr std::size_t notice_words = 32;

/// The start of every workspace, zero at first. Peers write `notices.poison`, `arrivals` and `credits`;
/// the rest is its own member's. Calls are counted from 1 by the kernels themselves, block by block, in `calls`: so a
/// graph that is launched again counts on, and no host need know how far the others are.
struct Workspace {
  struct Notices {
    std::uint64_t poison;   ///< not 0: every kernel leaves; 1 + the member that did not come
    std::uint64_t missing;  ///< 1 + the member that this one's kernel waited for in vain
    std::uint64_t unused[notice_words - 2];
  };

  /// All members' notices, own included, which the member that gives up writes. The host fills it in.
  struct NoticeBoard {
    std::uint64_t members;
    Notices* notices[most_members];
  };

  Notices notices;
  std::uint64_t calls[most_blocks];
  std::uint64_t arrivals[most_blocks][most_members];  ///< how often that member's block has come to a barrier
  /// The last call of which that member's block has told that its packets are read. Of pushes: the last chunk that that
  /// member's other block of the pair has sent, or read. Of rings, in the first two places: what the member before has
  /// stored, and the next one read.
  std::uint64_t credits[most_blocks][most_members];
  NoticeBoard book;
};

/// Packets begin so many bytes behind the workspace's start.
inline constexpr Extent packets_offset = (sizeof(Workspace) + 4095) / 4096 * 4096;

/// Staging for packets: for each of `sets` calls in turn, `areas` areas of one place per member and packet. Two sets do
/// where traffic is paired. Where it is one way the reader says how far it is, once in half as many calls as there are
/// sets: that takes a fence and a trip, which each call would wait for otherwise.
struct Staging {
  Extent packets = 0;      ///< of one piece
  Extent place_bytes = 0;  ///< of all packets that one member sends in one area
  Extent areas = 1;
  Extent sets = 2;  ///< a power of two

  [[nodiscard]] constexpr Bytes bytes(int members) const {
    return Bytes{sets} * areas * static_cast<Bytes>(members) * place_bytes;
  }
  /// Bytes from the start of the receiver's workspace to what member `from` sends in `call`.
  [[nodiscard]] constexpr Extent offset(int members, std::uint64_t call, Extent area, int from) const {
    const Extent set = (static_cast<Extent>(call) & (sets - 1)) * areas + area;
    return packets_offset + (set * static_cast<Extent>(members) + static_cast<Extent>(from)) * place_bytes;
  }
  /// The call up to which every target must have read before `call` may be sent; 0: nothing need be waited for.
  [[nodiscard]] constexpr std::uint64_t read_before(std::uint64_t call) const {
    const std::uint64_t period = sets / 2;
    return ((call - 1) & (period - 1)) == 0 && call > period ? call - 1 - period : 0;
  }
  /// Says whether a target says, after it has read `call`, how far it is.
  [[nodiscard]] constexpr bool told_after(std::uint64_t call) const { return (call & (sets / 2 - 1)) == 0; }
};

/// Who takes part, and where each one's workspace is by this member's addresses.
struct PeerTable {
  int members = 1;
  int me = 0;
  std::byte* workspaces[most_members] = {};
};

/// Limits in ticks of the device's clock: how long kernels wait for a member, and how much jitter they inject.
struct WaitLimits {
  std::uint64_t ticks = 0;
  std::uint64_t jitter = 0;  ///< calls begin up to about this much later, by chance; 0: at once
};

/// When a kernel may come to the GPU, and lets the next one: complete: each when the one before has ended.
/// programmatic: the next one when all before this one has ended, early: at once; either way it waits on the GPU for
/// the end of this one. The numbers stand in rows (setting `dependent_launch`) and do not change.
enum class DependentLaunch { complete = 0, programmatic = 1, early = 2 };

/// One launch: how many calls it makes, and when its successor may start.
struct LaunchArguments {
  std::uint64_t calls = 1;
  DependentLaunch dependent = DependentLaunch::complete;
};

/// Data are aligned in whole vectors, or are moved element by element.
enum class Layout { vectors, elements };

}  // namespace linkscope::direct
