// MessageSlots: where in a rank's memory its messages are: a slot to each peer and a slot from each.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "base/units.hpp"
#include "model/schedule.hpp"

namespace linkscope::workload {

/// A message of a phase as one of its two ranks sees it: the other rank, and where it is in the slot between them.
struct PeerMessage {
  int peer = 0;
  Bytes offset = 0;
  Bytes bytes = 0;
};

/// The messages that a rank sends and receives in a phase, in the order of peers.
struct RankMessages {
  std::vector<PeerMessage> sends;
  std::vector<PeerMessage> receives;
  [[nodiscard]] bool any() const { return !sends.empty() || !receives.empty(); }
};

/// Messages of a phase to one peer lie behind one another, each from a multiple of this on.
inline constexpr Bytes message_unit = 16;
inline constexpr Bytes slot_unit = 256;

[[nodiscard]] inline RankMessages messages_of(const Phase& phase, int rank) {
  RankMessages own;
  const auto add = [](std::vector<PeerMessage>& messages, int peer, Bytes bytes) {
    Bytes offset = 0;
    for (const PeerMessage& one : messages) {
      if (one.peer == peer) offset = one.offset + round_up(one.bytes, message_unit);
    }
    messages.push_back({peer, offset, bytes});
  };
  for (const ScheduledMessage& message : phase.messages) {
    if (message.source == rank) add(own.sends, message.destination, message.bytes);
    if (message.destination == rank) add(own.receives, message.source, message.bytes);
  }
  const auto by_peer = [](const PeerMessage& a, const PeerMessage& b) { return a.peer < b.peer; };
  std::stable_sort(own.sends.begin(), own.sends.end(), by_peer);
  std::stable_sort(own.receives.begin(), own.receives.end(), by_peer);
  return own;
}

/// A piece of a rank's message memory.
struct MessageSlot {
  Bytes offset = 0;
  Bytes bytes = 0;  ///< of all messages that one phase may have there, each from a multiple of 16 bytes on
};

/// A rank's slots, by peer. They are the same for every process, since they follow from the schedule. Particles are sent
/// from memory of their own: then there are slots to receive in, each for the largest message, and none to send from.
struct MessageSlots {
  MessageSlots(const Schedule& schedule, int rank) {
    if (schedule.particles) {
      const ParticleDeck& deck = *schedule.particles;
      for (const int peer : deck.neighbours[static_cast<std::size_t>(rank)])
        from[peer].bytes = round_up(particle_header_bytes + deck.batch * particle_bytes, message_unit);
    } else {
      for (const Loop& loop : schedule.loops) {
        for (const Phase& phase : loop.phases) {
          const RankMessages own = messages_of(phase, rank);
          widen(to, own.sends);
          widen(from, own.receives);
        }
      }
    }
    for (auto* const slots : {&to, &from}) {
      for (auto& [peer, slot] : *slots) {
        slot.offset = bytes;
        bytes += round_up(slot.bytes, slot_unit);
      }
    }
  }

  /// Returns where messages from `peer` come; null where none do.
  [[nodiscard]] const MessageSlot* from_peer(int peer) const {
    const auto found = from.find(peer);
    return found == from.end() ? nullptr : &found->second;
  }

  std::map<int, MessageSlot> to;
  std::map<int, MessageSlot> from;
  Bytes bytes = 0;  ///< of all of them

 private:
  static void widen(std::map<int, MessageSlot>& slots, const std::vector<PeerMessage>& messages) {
    for (const PeerMessage& one : messages) {
      MessageSlot& slot = slots[one.peer];
      slot.bytes = std::max(slot.bytes, one.offset + round_up(one.bytes, message_unit));
    }
  }
};

/// Returns the slots of every rank, in the order of ranks.
[[nodiscard]] inline std::vector<MessageSlots> slots_of_ranks(const Schedule& schedule) {
  std::vector<MessageSlots> all;
  for (int rank = 0; rank < schedule.ranks; ++rank) all.emplace_back(schedule, rank);
  return all;
}

}  // namespace linkscope::workload
