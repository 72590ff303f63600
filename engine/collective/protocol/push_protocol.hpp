// Push protocol: how members that only ever store to one another sum up what is too large for packets. Kernels use it,
// and threads that test it.
#pragma once

#include <cstdint>

#include "collective/protocol/pieces.hpp"
#include "collective/protocol/workspace.hpp"
#include "model/collective.hpp"

namespace linkscope::direct {

/// Chunks of one member and pair that fit into the staging of the one that sums them up.
inline constexpr unsigned push_depth = 3;

/// A sum's division: a share for each member to sum up, shares in chunks, of which pair p of each member has every
/// `pairs`-th. The same in all members but for `me` and what follows from it.
struct PushCut {
  int members = 1;
  int me = 0;
  unsigned pairs = 1;
  Bytes chunk = 0;  ///< a multiple of 16
  Bytes share = 0;  ///< too; the last of those that divide a buffer may be shorter, or empty
  Bytes total = 0;  ///< where shares end
  std::uint32_t chunks[most_members] = {};  ///< in each member's share
  MemberSet readers = 0;                    ///< who gets this member's sums
  MemberSet results = 0;                    ///< whose sums come to this member

  struct Piece {
    Bytes at = 0;  ///< from where all shares begin
    Bytes bytes = 0;
  };

  [[nodiscard]] constexpr Bytes length(int owner) const {
    const Bytes begin = share * static_cast<Bytes>(owner);
    if (begin >= total) return 0;
    return total - begin < share ? total - begin : share;
  }
  /// Chunks of `owner`'s share that are `pair`'s: the first share has most.
  [[nodiscard]] constexpr std::uint32_t rounds(int owner, unsigned pair) const {
    const std::uint32_t all = chunks[owner];
    return all > pair ? (all - pair + pairs - 1) / pairs : 0;
  }
  /// That chunk; of no bytes where there is none.
  [[nodiscard]] constexpr Piece piece(int owner, unsigned pair, std::uint32_t round) const {
    const Bytes at = (Bytes{round} * pairs + pair) * chunk;
    const Bytes whole = length(owner);
    if (at >= whole) return {};
    return {share * static_cast<Bytes>(owner) + at, whole - at < chunk ? whole - at : chunk};
  }
  /// Its number among all that each member and pair ever sends to `owner`, from 1. `call` counts from 1.
  [[nodiscard]] constexpr std::uint64_t number(int owner, unsigned pair, std::uint64_t call,
                                               std::uint32_t round) const {
    return (call - 1) * rounds(owner, pair) + round + 1;
  }
  /// Bytes from the start of `owner`'s staging to the place of that chunk of member `from`.
  [[nodiscard]] constexpr Bytes place(int owner, int from, unsigned pair, std::uint64_t number) const {
    const auto others = static_cast<Bytes>(members - 1);
    return (pair * others + seat(owner, from)) * seat_bytes() + (number - 1) % push_depth * chunk;
  }
  [[nodiscard]] constexpr Bytes seat_bytes() const { return push_depth * chunk; }
  /// The number of the seat that `from` has in `owner`'s staging: the member behind the owner has the first.
  [[nodiscard]] constexpr Bytes seat(int owner, int from) const {
    return static_cast<Bytes>(from > owner ? from - owner - 1 : from - owner - 1 + members);
  }
  /// Bytes of one member's staging.
  [[nodiscard]] constexpr Bytes staging_bytes() const {
    return Bytes{pairs} * static_cast<Bytes>(members - 1) * seat_bytes();
  }
  /// The members that this one tells that its sums are there: itself too, because its next numbers wait until the last
  /// have been read.
  [[nodiscard]] constexpr MemberSet told() const { return readers | only(me); }
  [[nodiscard]] constexpr MemberSet awaited() const { return results | only(me); }
};

/// `shape` is an all-reduce, a reduce, or a reduce-scatter of whole vectors.
constexpr PushCut push_cut(const CollectiveShape& shape, int me, unsigned pairs, Bytes chunk) {
  PushCut cut;
  cut.members = shape.members;
  cut.me = me;
  cut.pairs = pairs;
  cut.chunk = chunk;
  cut.total = shape.bytes;
  cut.share = share_of(shape.bytes, shape.members);
  for (int owner = 0; owner < shape.members; ++owner)
    cut.chunks[owner] = static_cast<std::uint32_t>((cut.length(owner) + chunk - 1) / chunk);
  const MemberSet everyone = all_of(shape.members);
  switch (shape.kind) {
    case CollectiveKind::reduce:
      cut.readers = only(0);
      cut.results = me == 0 ? everyone : 0U;
      break;
    case CollectiveKind::reduce_scatter:
      cut.readers = cut.results = only(me);
      break;
    default:
      cut.readers = cut.results = everyone;
  }
  return cut;
}

// A Port is one worker: a block of threads. Workers come in pairs of the same number in all members, one of each role.
// It has
//   pair(), role()
//   begin(turn)            told before each call; turns are counted from 1 within a launch
//   call(turn)             the number of that call, counted through all launches
// of a scatterer
//   await_room(call, round)        until every owner's staging has room for the pair's chunk of that round. False: give up
//   push(owner, place, piece)      stores this member's part of it there
//   tell_chunks(call, round)       tells the owners, and its own summer, that all of it has been stored
//   await_results(call)            until all `awaited` have told theirs. False: give up
//   end(call)                      told when the result is there
// and of a summer
//   await_chunks(call, round)      until everybody has told that its part of this member's chunk is there, itself too.
//                                  False: give up
//   sum(number, piece)             stores the sum of the chunk of that number to all readers
//   give_room(call, round)         tells the others that their parts have been read
//   tell_results(call)             tells all `told` that this call's sums have been stored
//
// Nothing is overwritten too early:
// - A place in the staging: by give_room, which scatterers wait for; both sides count the chunks through all calls.
// - A reader's result: an owner stores a chunk's sum when all members' scatterers have told of their parts. So has the
//   reader's own, which began this call after it had seen the former one's results complete. In place it has read, by
//   then, what stood there: it was its part of that very chunk.
// - A member's own numbers, which its summer reads: its scatterer ends a call when its own summer has told.
// Nobody waits forever: an owner waits for chunk n of everybody, a scatterer for room for chunk n that chunk n -
// push_depth of the same owner leaves; so the lowest chunk that has not been summed up can always be sent by all.

enum class PushRole { scatterer, summer };

/// Sends this member's part of all others' shares. False: somebody did not come.
template <class Port>
constexpr bool scatter_chunks(Port& port, const PushCut& cut, std::uint64_t call) {
  const std::uint32_t rounds = cut.rounds(0, port.pair());
  for (std::uint32_t round = 0; round < rounds; ++round) {
    if (!port.await_room(call, round)) return false;
    for (int step = 1; step < cut.members; ++step) {
      const int owner = member_after(cut.me, step, cut.members);
      const PushCut::Piece piece = cut.piece(owner, port.pair(), round);
      if (piece.bytes == 0) continue;
      const std::uint64_t number = cut.number(owner, port.pair(), call, round);
      port.push(owner, cut.place(owner, cut.me, port.pair(), number), piece);
    }
    port.tell_chunks(call, round);
  }
  return true;
}

/// Sums up this member's own share. False: somebody did not come.
template <class Port>
constexpr bool sum_chunks(Port& port, const PushCut& cut, std::uint64_t call) {
  const std::uint32_t rounds = cut.rounds(cut.me, port.pair());
  for (std::uint32_t round = 0; round < rounds; ++round) {
    if (!port.await_chunks(call, round)) return false;
    port.sum(cut.number(cut.me, port.pair(), call, round), cut.piece(cut.me, port.pair(), round));
    port.give_room(call, round);
  }
  return true;
}

/// `repeats` calls.
template <class Port>
constexpr void repeat_pushes(Port& port, const PushCut& cut, std::uint64_t repeats) {
  for (std::uint64_t turn = 1; turn <= repeats; ++turn) {
    const std::uint64_t call = port.call(turn);
    port.begin(turn);
    if (port.role() == PushRole::scatterer) {
      if (!scatter_chunks(port, cut, call) || !port.await_results(call)) return;
      port.end(call);
    } else {
      if (!sum_chunks(port, cut, call)) return;
      port.tell_results(call);
    }
  }
}

}  // namespace linkscope::direct
