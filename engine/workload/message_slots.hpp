// MessageSlots: where in a rank's memory its messages are: a slot to each peer and a slot from each.
#pragma once

#include <map>
#include <vector>

#include "base/units.hpp"
#include "model/schedule.hpp"

namespace linkscope::workload {

/// A piece of a rank's message memory.
struct MessageSlot {
  Bytes offset = 0;
  Bytes bytes = 0;  ///< of all messages that one phase may have there, each from a multiple of 16 bytes on
};

/// A rank's slots, by peer. They are the same for every process, since they follow from the schedule. Particles are sent
/// from memory of their own: then there are slots to receive in, each for the largest message, and none to send from.
struct MessageSlots {
  MessageSlots(const Schedule& schedule, int rank);
  /// Returns where messages from `peer` come; null where none do.
  [[nodiscard]] const MessageSlot* from_peer(int peer) const {
    const auto found = from.find(peer);
    return found == from.end() ? nullptr : &found->second;
  }

  std::map<int, MessageSlot> to;
  std::map<int, MessageSlot> from;
  Bytes bytes = 0;  ///< of all of them
};

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

/// Returns the slots of every rank, in the order of ranks.
[[nodiscard]] std::vector<MessageSlots> slots_of_ranks(const Schedule& schedule);

[[nodiscard]] RankMessages messages_of(const Phase& phase, int rank);

}  // namespace linkscope::workload
