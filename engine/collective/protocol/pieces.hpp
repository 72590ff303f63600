// Pieces: what one member of a collective sends to whom, and what it makes of what it receives.
#pragma once

#include <cstdint>

#include "base/units.hpp"
#include "model/collective.hpp"

namespace linkscope::direct {

/// One bit for each member. The limit is that of the workspaces.
inline constexpr int most_members = 16;
using MemberSet = unsigned;

constexpr MemberSet only(int member) { return 1U << static_cast<unsigned>(member); }
constexpr MemberSet all_of(int members) { return (1U << static_cast<unsigned>(members)) - 1U; }
constexpr bool holds(MemberSet set, int member) { return (set >> static_cast<unsigned>(member) & 1U) != 0; }

/// The member `step` behind `me`, round and round: not everybody sends to the same one first.
constexpr int member_after(int me, int step, int members) {
  const int member = me + step;
  return member < members ? member : member - members;
}

/// The members' data become one sum, or a piece of its own for each.
enum class Combine { sum, copy };

constexpr Combine combine_of(CollectiveKind kind) {
  const bool adds = kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce ||
                    kind == CollectiveKind::reduce_scatter;
  return adds ? Combine::sum : Combine::copy;
}

/// Whether data go straight to the member that needs them, or first to the member that sums up a share.
enum class Trips { one, two };

/// paired: a member receives from those that it sends to, in the same call. one_way: not so (a root).
enum class Traffic { paired, one_way };

/// Lengths and offsets of packets and pieces in bytes: threads reckon faster with 32 bits. What is larger goes without
/// packets.
using Extent = std::uint32_t;
inline constexpr Bytes most_packet_bytes = Bytes{1} << 30U;

/// A member's buffers as pieces of equal length. The piece for member p starts at source_step * p of the source; what
/// comes from member p goes to destination_step * p of the destination. A step of 0: the same piece for all; a sum over
/// all.
struct Pieces {
  int members = 1;
  int me = 0;
  Extent bytes = 0;  ///< of a piece
  Extent total = 0;  ///< where pieces end: the last of those that divide a buffer may be shorter, or empty
  Extent source_step = 0;
  Extent destination_step = 0;
  MemberSet targets = 0;  ///< to whom this member sends, itself excluded
  MemberSet origins = 0;  ///< from whom its result comes; itself where its own data is to be moved or added
  Traffic traffic = Traffic::paired;

  /// Bytes from `at` of piece `index` on, where pieces are `step` apart.
  [[nodiscard]] constexpr Extent rest(int index, Extent step, Extent at) const {
    const Extent begin = (step * static_cast<Extent>(index)) + at;
    if (at >= bytes || begin >= total) return 0;
    return bytes - at < total - begin ? bytes - at : total - begin;
  }
};

/// Every byte goes straight to the member that needs it. `shape` is of most_packet_bytes at most.
constexpr Pieces one_shot_pieces(const CollectiveShape& shape, int me) {
  using Kind = CollectiveKind;
  const MemberSet everyone = all_of(shape.members);
  const MemberSet others = everyone & ~only(me);
  const auto total = static_cast<Extent>(shape.bytes);
  const Extent block = total / static_cast<Extent>(shape.members);
  const bool moves_own = shape.place == InPlace::out;
  Pieces pieces{shape.members, me, total, total, 0, 0, others, everyone, Traffic::paired};
  switch (shape.kind) {
    case Kind::all_reduce:
    case Kind::barrier:
      break;
    case Kind::reduce:
      pieces.traffic = Traffic::one_way;
      pieces.targets = me == 0 ? 0U : only(0);
      pieces.origins = me == 0 ? everyone : 0U;
      break;
    case Kind::broadcast:
      pieces.traffic = Traffic::one_way;
      pieces.targets = me == 0 ? others : 0U;
      pieces.origins = me == 0 && !moves_own ? 0U : only(0);
      break;
    case Kind::reduce_scatter:
      pieces.bytes = block;
      pieces.source_step = block;
      break;
    case Kind::all_gather:
      pieces.bytes = block;
      pieces.destination_step = block;
      pieces.origins = moves_own ? everyone : others;
      break;
    case Kind::all_to_all:
      pieces.bytes = block;
      pieces.source_step = pieces.destination_step = block;
      break;
  }
  return pieces;
}

/// A thread moves so much with one instruction.
inline constexpr Bytes vector_bytes = 16;

/// Bytes of each member's share where a buffer is divided among all: whole vectors, so that every share starts on one.
constexpr Bytes share_of(Bytes bytes, int members) {
  const Bytes vectors = (bytes + vector_bytes - 1) / vector_bytes;
  const auto count = static_cast<Bytes>(members);
  return (vectors + count - 1) / count * vector_bytes;
}

/// An all-reduce in two steps: everybody sums up one share of it, then gives everybody else the sum.
constexpr Pieces two_shot_pieces(const CollectiveShape& shape, int me) {
  Pieces pieces = one_shot_pieces(shape, me);
  pieces.bytes = static_cast<Extent>(share_of(shape.bytes, shape.members));
  pieces.source_step = pieces.destination_step = pieces.bytes;
  return pieces;
}

/// Says whether every piece starts on a vector and is a whole number of them.
constexpr bool whole_vectors(const Pieces& pieces) {
  return (pieces.bytes | pieces.total | pieces.source_step | pieces.destination_step) % vector_bytes == 0;
}

}  // namespace linkscope::direct
