// Ring protocol: how members send chunks to the next member alone, by stores, until all have what is theirs. Kernels
// use it, and threads that test it.
#pragma once

#include <cstdint>

#include "collective/protocol/pieces.hpp"
#include "model/collective.hpp"

namespace linkscope::direct {

/// Chunks of one worker that fit into the staging of the member they are sent to.
inline constexpr unsigned ring_depth = 3;

/// A member takes the data of a stop from its own source; from that and what the member before has sent; or from the
/// result, which the member before has stored.
enum class RingTakes { own, staged_and_own, result };
/// It stores them for the next member in these places.
enum class RingGives { nothing, staging, result };

/// One chunk's stop at one member. Numbers count from 1 through all calls of a worker; 0: nothing to wait for, or to
/// tell.
struct RingStep {
  Bytes at = 0;  ///< from where all shares begin
  Bytes bytes = 0;
  RingTakes takes = RingTakes::own;
  RingGives gives = RingGives::nothing;
  bool keeps = false;         ///< stores it to its own destination too
  std::uint64_t awaited = 0;  ///< of all that the one before stores here
  std::uint64_t taken = 0;    ///< of those, the one in the staging that is read here
  std::uint64_t sent = 0;     ///< of all that it stores for the next one
  std::uint64_t placed = 0;   ///< of those, the one that goes to the staging
  /// The chunk that the next member must have read before `placed` has a place.
  [[nodiscard]] constexpr std::uint64_t read_before() const {
    return placed > ring_depth ? placed - ring_depth : 0;
  }
};

/// A buffer's division: shares that begin their way at different members (or the whole as one share), in chunks, of
/// which worker w of each member has every `workers`-th. The same in all members but for `me`.
///
/// A chunk of share s comes to member s + 1 first (stop 0) and goes from member to member. Up to stop n - 1, at member
/// s itself, everybody adds its part; from there on it is the result, which everybody passes on, up to stop 2n - 2. A
/// sum that one member alone wants ends at stop n - 1, what needs no sum begins there.
struct RingCut {
  int members = 1;
  int me = 0;
  unsigned workers = 1;
  Bytes chunk = 0;    ///< a multiple of 16
  Bytes share = 0;    ///< too; the last shares may be shorter, or empty
  Bytes total = 0;    ///< where shares end
  int shares = 1;     ///< one for each member, or one
  int first = 0;      ///< stop
  int last = 0;       ///< stop
  bool keeps = true;  ///< whether what ends at stop n - 1 is not at its destination already

  [[nodiscard]] constexpr int next() const { return member_after(me, 1, members); }
  [[nodiscard]] constexpr int previous() const { return member_after(me, members - 1, members); }

  [[nodiscard]] constexpr bool sums() const { return first < members - 1; }
  /// The shares of which this member has a part of its own, and those whose result comes to it.
  [[nodiscard]] constexpr MemberSet sources() const {
    return sums() ? all_of(shares) : (shares == 1 ? only(0) & only(me) : only(me));
  }
  [[nodiscard]] constexpr MemberSet results() const {
    if (last > members - 1) return all_of(shares);
    return shares == 1 ? only(0) & only(me) : only(me);
  }

  [[nodiscard]] constexpr Bytes length(int index) const {
    const Bytes begin = share * static_cast<Bytes>(index);
    if (begin >= total) return 0;
    return total - begin < share ? total - begin : share;
  }
  /// Chunks of the first share, which is the longest, that are `worker`'s. Others may be of no bytes: they are told all
  /// the same.
  [[nodiscard]] constexpr std::uint32_t rounds(unsigned worker) const {
    const auto all = static_cast<std::uint32_t>((length(0) + chunk - 1) / chunk);
    return all > worker ? (all - worker + workers - 1) / workers : 0;
  }
  /// The share whose chunks stop here; `shares` or more: no chunk does.
  [[nodiscard]] constexpr int share_at(int stop) const { return (me + 2 * members - 1 - stop) % members; }
  [[nodiscard]] constexpr bool stops(int stop) const { return share_at(stop) < shares; }

  /// `stops(stop)` holds.
  [[nodiscard]] constexpr RingStep step(unsigned worker, std::uint64_t call, std::uint32_t round,
                                        int stop) const {
    const int ends = members - 1;  // where a sum is complete
    RingStep step;
    const Bytes begin = share * static_cast<Bytes>(share_at(stop));
    const Bytes at = (Bytes{round} * workers + worker) * chunk;
    const Bytes whole = length(share_at(stop));
    step.at = begin + at;
    step.bytes = at >= whole ? 0 : (whole - at < chunk ? whole - at : chunk);
    step.keeps = keeps && stop == ends;
    // Stop k numbers what it stores for the next member by k, among `last - first` of each round.
    const std::uint64_t done = (call - 1) * rounds(worker) + round;
    const auto number = [&](int sent_at, int end) -> std::uint64_t {
      if (shares == 1) return done + 1;
      return done * static_cast<std::uint64_t>(end - first) + static_cast<std::uint64_t>(sent_at - first) + 1;
    };
    const int staged_end = last < ends ? last : ends;
    if (stop > first) {
      step.awaited = number(stop - 1, last);
      step.takes = stop <= ends ? RingTakes::staged_and_own : RingTakes::result;
      if (stop <= ends) step.taken = number(stop - 1, staged_end);
    }
    if (stop < last) {
      step.sent = number(stop, last);
      step.gives = stop < ends ? RingGives::staging : RingGives::result;
      if (stop < ends) step.placed = number(stop, staged_end);
    }
    return step;
  }

  /// Bytes from the staging's start to the chunk of that number.
  [[nodiscard]] constexpr Bytes place(unsigned worker, std::uint64_t number) const {
    return (Bytes{worker} * ring_depth + (number - 1) % ring_depth) * chunk;
  }
  /// Bytes of one member's staging: only what is to be added is staged.
  [[nodiscard]] constexpr Bytes staging_bytes() const {
    return sums() ? Bytes{workers} * ring_depth * chunk : 0;
  }
};

/// `shape` is no all-to-all and no barrier; all-gather and reduce-scatter are of whole vectors.
constexpr RingCut ring_cut(const CollectiveShape& shape, int me, unsigned workers, Bytes chunk) {
  using Kind = CollectiveKind;
  RingCut cut;
  cut.members = shape.members;
  cut.me = me;
  cut.workers = workers;
  cut.chunk = chunk;
  cut.total = shape.bytes;
  const bool divided = shape.kind != Kind::reduce && shape.kind != Kind::broadcast;
  cut.shares = divided ? shape.members : 1;
  cut.share = share_of(shape.bytes, cut.shares);
  const bool one_has_it = shape.kind == Kind::reduce || shape.kind == Kind::reduce_scatter;
  cut.first = combine_of(shape.kind) == Combine::sum ? 0 : shape.members - 1;
  cut.last = one_has_it ? shape.members - 1 : 2 * shape.members - 2;
  cut.keeps = cut.sums() || shape.place == InPlace::out;
  return cut;
}

// A Port is one worker: a block of threads, or a thread. It has
//   worker()
//   begin(turn)            told before each call; turns are counted from 1 within a launch
//   call(turn)             the number of that call, counted through all launches
//   meet(call)             until all members' workers of this number have come to the call. False: give up
//   await(things, read)    until the member before has stored so many things here, and the next one has read so many
//                          in its staging; 0: no matter. False: give up
//   move(step)             loads, adds and stores
//   tell(sent, read)       tells the next member that so many things have been stored for it, and the one before that
//                          so many have been read here; 0: nothing
//   end(call)              told when the result is there
//
// Nothing is overwritten too early:
// - A place in the staging: by what has been read, which is counted through all calls by both sides alike.
// - A destination: the member that stores to it has met its owner in this call, so the owner has ended the call before.
//   In place the owner has sent its own part of a chunk before the result of that chunk can come to it.
// Nobody waits forever. Where shares are divided all make the same stops in the same order: the one that is least far
// finds what it awaits sent, and room with two places or more. Along a chain the last one waits for nobody behind it.

/// `repeats` calls.
template <class Port>
constexpr void repeat_rings(Port& port, const RingCut& cut, std::uint64_t repeats) {
  const std::uint32_t rounds = cut.rounds(port.worker());
  for (std::uint64_t turn = 1; turn <= repeats; ++turn) {
    const std::uint64_t call = port.call(turn);
    port.begin(turn);
    if (!port.meet(call)) return;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      for (int stop = cut.first; stop <= cut.last; ++stop) {
        if (!cut.stops(stop)) continue;
        const RingStep step = cut.step(port.worker(), call, round, stop);
        if (!port.await(step.awaited, step.read_before())) return;
        port.move(step);
        port.tell(step.sent, step.taken);
      }
    }
    port.end(call);
  }
}

}  // namespace linkscope::direct
