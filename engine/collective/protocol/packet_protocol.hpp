// Packet protocol: how packets that carry their own flags make a collective. Kernels use it, and threads that test it.
#pragma once

#include <cstdint>

#include "collective/protocol/pieces.hpp"

namespace linkscope::direct {

// A Port is one worker's way to its counterparts, the workers of the same number in the other members: a thread, or a
// warp whose threads call everything together. It has
//   Payload, Raw           what a thread holds of a packet; the same as it is stored in the staging, flags and all
//   Sum                    of payloads: add(payload), total()
//   worker(), workers()    this worker's number, and how many there are: the same in every member
//   packets()              of one piece
//   take(p, packet)        this member's own data for member p
//   put(p, packet, load)   the result's piece p
//   send(to, area, packet, load, call)     into `to`'s staging, with the call's flag
//   look(from, area, packet, call)         what is at the call's place in this member's own staging now
//   complete(raw, call), load_of(raw)      whether that is `call`'s packet; its data
//   join()                 brings the worker's threads together, so that they look and send at one time
//   agree(yes)             whether all threads of the worker say yes
//   begin(turn)            told before each call; turns are counted from 1 within a launch
//   call(turn)             the number of that call, counted through all launches; what follows from it is reckoned no
//                          earlier than here, since it comes from memory: a launch's first loads set out before
//   wait_for(late)         false: give up, one of these members is not coming, or others have given up
// and, where traffic is one way,
//   await_credits(turn)    false: give up. Until every target has read what lay where this call's packets go
//   give_credits(turn, fine)               tells the origins, where it is time to (Staging), that this member has read;
//                          whether all of it went well
//
// When may a place in the staging be written again? Each has one writer and one reader, workers of the same number, and
// calls take the sets of places in turn (Staging).
// - Paired traffic has two sets. A worker writes for call c + 2 when it has finished call c + 1. In that call it
// received
//   something from the reader, who sent it after finishing call c: every look at the place had returned, because the
//   reader's way on depended on what it saw. The two sets are enough however far apart members start and however slow
//   they are: nobody can be more than one call ahead.
// - One way: nothing comes back, so the reader says by a credit, released after it has read, how far it is: with 2n
// sets
//   after every n-th call. A writer asks before it begins another n: those go where what lay is older than the last n.
// A place's old flag is never taken for a new one: it is that of call c, the awaited one is that of c + sets, and all
// places are written in every call. (Flags of 32 bits come round after 2^32 calls, and then still differ by that.)
// Workers need no barrier among themselves: a kernel that repeats calls has some of them a call ahead of others, as it
// would have with any work that is cut the same way every time.

inline constexpr int at_once = 4;  ///< members whose packets are looked for together

/// Looks until what the `wanted` of members [base, base + at_once) sent of `packet` is there. All places are read, so
/// that nothing stands between the loads; what is none of the wanted means nothing.
template <class Port>
constexpr bool receive(Port& port, const Pieces& pieces, MemberSet wanted, int base, Extent area,
                       Extent packet, std::uint64_t call, typename Port::Raw (&raw)[at_once]) {
  for (;;) {
    port.join();
    for (int i = 0; i < at_once; ++i)
      raw[i] = port.look(base + i < pieces.members ? base + i : pieces.me, area, packet, call);
    MemberSet late = 0;
    for (int i = 0; i < at_once; ++i) late |= port.complete(raw[i], call) ? 0U : only(base + i);
    late &= wanted;
    if (port.agree(late == 0)) return true;
    if (!port.wait_for(late)) return false;
  }
}

/// Sends a packet to all targets: its own to each, or the same to all.
template <class Port>
constexpr void send_packet(Port& port, const Pieces& pieces, Extent packet, std::uint64_t turn) {
  typename Port::Payload same{};
  if (pieces.source_step == 0) same = port.take(pieces.me, packet);
  for (int base = 1; base < pieces.members; base += at_once) {
    typename Port::Payload load[at_once] = {same, same, same, same};
    for (int i = 0; i < at_once && pieces.source_step != 0; ++i) {
      if (base + i < pieces.members)
        load[i] = port.take(member_after(pieces.me, base + i, pieces.members), packet);
    }
    const std::uint64_t call = port.call(turn);
    port.join();
    for (int i = 0; i < at_once; ++i) {
      if (base + i >= pieces.members) continue;
      const int to = member_after(pieces.me, base + i, pieces.members);
      if (holds(pieces.targets, to)) port.send(to, 0, packet, load[i], call);
    }
  }
}

/// The sum of everybody's packet in member order, which is the same in every member: so are the roundings.
template <class Port>
constexpr bool sum_packet(Port& port, const Pieces& pieces, Extent packet, std::uint64_t turn,
                          typename Port::Sum& sum) {
  const std::uint64_t call = port.call(turn);
  const MemberSet wanted = all_of(pieces.members) & ~only(pieces.me);
  const typename Port::Payload own = port.take(pieces.me, packet);
  for (int base = 0; base < pieces.members; base += at_once) {
    typename Port::Raw raw[at_once] = {};
    if (!receive(port, pieces, wanted, base, 0, packet, call, raw)) return false;
    for (int i = 0; i < at_once; ++i) {
      if (base + i >= pieces.members) continue;
      sum.add(base + i == pieces.me ? own : port.load_of(raw[i]));
    }
  }
  return true;
}

/// Puts the packets of `origins` where they belong.
template <class Port>
constexpr bool put_packets(Port& port, const Pieces& pieces, MemberSet origins, Extent area, Extent packet,
                           std::uint64_t turn) {
  const std::uint64_t call = port.call(turn);
  if (holds(origins, pieces.me)) port.put(pieces.me, packet, port.take(pieces.me, packet));
  const MemberSet wanted = origins & ~only(pieces.me);
  for (int base = 0; base < pieces.members; base += at_once) {
    if ((wanted >> static_cast<unsigned>(base) & all_of(at_once)) == 0) continue;
    typename Port::Raw raw[at_once] = {};
    if (!receive(port, pieces, wanted, base, area, packet, call, raw)) return false;
    for (int i = 0; i < at_once; ++i) {
      if (holds(wanted, base + i)) port.put(base + i, packet, port.load_of(raw[i]));
    }
  }
  return true;
}

/// One call by one trip. False: somebody did not come.
template <Combine combine, class Port>
constexpr bool one_shot(Port& port, const Pieces& pieces, std::uint64_t turn) {
  if (pieces.targets != 0) {
    for (Extent packet = port.worker(); packet < port.packets(); packet += port.workers())
      send_packet(port, pieces, packet, turn);
  }
  if (pieces.origins == 0) return true;
  for (Extent packet = port.worker(); packet < port.packets(); packet += port.workers()) {
    if constexpr (combine == Combine::sum) {
      typename Port::Sum sum{};
      if (!sum_packet(port, pieces, packet, turn, sum)) return false;
      port.put(pieces.me, packet, sum.total());
    } else {
      if (!put_packets(port, pieces, pieces.origins, 0, packet, turn)) return false;
    }
  }
  return true;
}

/// An all-reduce by two trips: a share's parts to the member that sums it up (area 0), its sum to all (area 1).
template <class Port>
constexpr bool two_shot(Port& port, const Pieces& pieces, std::uint64_t turn) {
  const MemberSet others = all_of(pieces.members) & ~only(pieces.me);
  for (Extent packet = port.worker(); packet < port.packets(); packet += port.workers())
    send_packet(port, pieces, packet, turn);
  for (Extent packet = port.worker(); packet < port.packets(); packet += port.workers()) {
    typename Port::Sum sum{};
    if (!sum_packet(port, pieces, packet, turn, sum)) return false;
    const typename Port::Payload total = sum.total();
    port.join();
    for (int step = 1; step < pieces.members; ++step)
      port.send(member_after(pieces.me, step, pieces.members), 1, packet, total, port.call(turn));
    port.put(pieces.me, packet, total);
  }
  for (Extent packet = port.worker(); packet < port.packets(); packet += port.workers()) {
    if (!put_packets(port, pieces, others, 1, packet, turn)) return false;
  }
  return true;
}

/// `repeats` calls, of which each is `collective(turn)`.
template <class Port, class Collective>
constexpr void repeat_calls(Port& port, const Pieces& pieces, std::uint64_t repeats,
                            const Collective& collective) {
  for (std::uint64_t turn = 1; turn <= repeats; ++turn) {
    port.begin(turn);
    if (pieces.traffic == Traffic::paired) {
      if (!collective(turn)) return;
      continue;
    }
    // Credits are a block's: its threads go on, or leave, together.
    const bool fine = port.await_credits(turn) && collective(turn);
    if (!port.give_credits(turn, fine)) return;
  }
}

}  // namespace linkscope::direct
