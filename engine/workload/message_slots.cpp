#include "workload/message_slots.hpp"

#include <algorithm>

namespace linkscope::workload {
namespace {

constexpr Bytes message_unit = 16;
constexpr Bytes slot_unit = 256;

Bytes in_units(Bytes bytes, Bytes unit) { return (bytes + unit - 1) / unit * unit; }

void add(std::vector<PeerMessage>& messages, int peer, Bytes bytes) {
  Bytes offset = 0;
  for (const PeerMessage& one : messages) {
    if (one.peer == peer) offset = one.offset + in_units(one.bytes, message_unit);
  }
  messages.push_back({peer, offset, bytes});
}

void widen(std::map<int, MessageSlot>& slots, const std::vector<PeerMessage>& messages) {
  for (const PeerMessage& one : messages) {
    MessageSlot& slot = slots[one.peer];
    slot.bytes = std::max(slot.bytes, one.offset + in_units(one.bytes, message_unit));
  }
}

}  // namespace

MessageSlots::MessageSlots(const Schedule& schedule, int rank) {
  if (schedule.particles) {
    const ParticleDeck& deck = *schedule.particles;
    for (const int peer : deck.neighbours[static_cast<std::size_t>(rank)])
      from[peer].bytes = in_units(particle_header_bytes + deck.batch * particle_bytes, message_unit);
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
      bytes += in_units(slot.bytes, slot_unit);
    }
  }
}

std::vector<MessageSlots> slots_of_ranks(const Schedule& schedule) {
  std::vector<MessageSlots> all;
  for (int rank = 0; rank < schedule.ranks; ++rank) all.emplace_back(schedule, rank);
  return all;
}

RankMessages messages_of(const Phase& phase, int rank) {
  RankMessages own;
  for (const ScheduledMessage& message : phase.messages) {
    if (message.source == rank) add(own.sends, message.destination, message.bytes);
    if (message.destination == rank) add(own.receives, message.source, message.bytes);
  }
  const auto by_peer = [](const PeerMessage& a, const PeerMessage& b) { return a.peer < b.peer; };
  std::stable_sort(own.sends.begin(), own.sends.end(), by_peer);
  std::stable_sort(own.receives.begin(), own.receives.end(), by_peer);
  return own;
}

}  // namespace linkscope::workload
