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

/// The same for every process, since it follows from the schedule. Particles are sent from memory of their own: then
/// there are slots to receive in, each for the largest message, and none to send from.
class MessageSlots {
 public:
  MessageSlots(const Schedule& schedule, int rank);

  /// By peer, in the order of ranks.
  [[nodiscard]] const std::map<int, MessageSlot>& to() const { return to_; }
  [[nodiscard]] const std::map<int, MessageSlot>& from() const { return from_; }
  [[nodiscard]] Bytes bytes() const { return bytes_; }

 private:
  void place(std::map<int, MessageSlot>& slots);

  std::map<int, MessageSlot> to_;
  std::map<int, MessageSlot> from_;
  Bytes bytes_ = 0;
};

/// A message of a phase as one of its two ranks sees it: the other rank, and where it is in the slot between them.
struct PeerMessage {
  int peer = 0;
  Bytes offset = 0;
  Bytes bytes = 0;
};

/// What `rank` sends and receives in a phase, in the order of peers.
struct RankMessages {
  std::vector<PeerMessage> sends;
  std::vector<PeerMessage> receives;
};

[[nodiscard]] RankMessages messages_of(const Phase& phase, int rank);

}  // namespace linkscope::workload
