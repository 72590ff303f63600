#include "workload/message_work.hpp"

#include <algorithm>

#include "model/pattern.hpp"

namespace linkscope::workload {

MessageWork::MessageWork(const RankContext& context)
    : context_(context), slots_(*context.schedule, context.rank) {
  const Schedule& schedule = *context_.schedule;
  if (schedule.grid) layout_.emplace(*schedule.grid, context_.rank, context_.state->data());
  for (const Loop& loop : schedule.loops) {
    std::vector<Prepared>& phases = prepared_.emplace_back();
    for (const Phase& phase : loop.phases)
      phases.push_back({&phase, messages_of(phase, context_.rank), AfterPhase::synchronise,
                        Schedule::times(loop, phase) > 0});
    for (std::size_t i = 0; i + 1 < phases.size(); ++i) {
      const Phase& now = *phases[i].phase;
      const Phase& next = *phases[i + 1].phase;
      const bool goes_on = now.halo && next.halo && now.halo->axis != next.halo->axis &&
                           now.halo->fields == next.halo->fields && now.collectives.empty() &&
                           now.every == next.every;
      if (goes_on) phases[i].after = AfterPhase::nothing;
    }
  }
}

void MessageWork::arm(std::uint64_t seed) {
  seed_ = seed;
  if (layout_) {
    const auto fields = static_cast<int>(context_.schedule->grid->fields.size());
    for (int field = 0; field < fields; ++field) context_.packer->fill(layout_->whole(field), seed_);
    context_.packer->synchronise();
    return;
  }
  for (const auto& [peer, slot] : slots_.to())
    context_.packer->fill(words_at(slot.offset, slot.bytes), seed_of(context_.rank, peer));
  for (const auto& [peer, slot] : slots_.from()) context_.packer->poison(words_at(slot.offset, slot.bytes));
  context_.packer->synchronise();
}

void MessageWork::spoil_all() {
  for (std::size_t loop = 0; loop < prepared_.size(); ++loop) {
    for (std::size_t phase = 0; phase < prepared_[loop].size(); ++phase) {
      if (prepared_[loop][phase].takes_place) spoil({loop, phase});
    }
  }
}

void MessageWork::carry_out(const PhasePlace& place, PartClock& clock) {
  const Prepared& prepared = at(place);
  if (prepared.messages.sends.empty() && prepared.messages.receives.empty()) return;
  const bool by_host = context_.transport->order() == MessageOrder::host;
  if (!prepared.phase->halo) {
    for (const PeerMessage& message : prepared.messages.receives)
      context_.transport->receive(message.peer, message.offset, message.bytes);
    clock.lap(WorkPart::send);
  }
  send_all(prepared, clock);
  context_.transport->wait();
  clock.lap(WorkPart::wait, newly_copied());
  if (prepared.phase->halo) {
    unpack_all(prepared);
    if (by_host) context_.packer->synchronise();
  }
  context_.transport->unpacked();
  clock.lap(WorkPart::unpack);
  if (by_host || prepared.after == AfterPhase::nothing) return;
  context_.packer->synchronise();
  clock.lap(WorkPart::synchronise);
}

/// In a halo exchange the receive from a neighbour is posted beside what it is sent.
void MessageWork::send_all(const Prepared& prepared, PartClock& clock) {
  const bool by_host = context_.transport->order() == MessageOrder::host;
  for (const PeerMessage& message : prepared.messages.sends) {
    std::byte* const to = context_.transport->outgoing(message.peer, message.offset, message.bytes);
    clock.lap(WorkPart::wait);
    pack(prepared, message, to);
    if (by_host && prepared.phase->halo) context_.packer->synchronise();
    clock.lap(WorkPart::pack);
    if (prepared.phase->halo) receive_from(prepared, message.peer);
    context_.transport->send(message.peer, message.offset, message.bytes);
    clock.lap(WorkPart::send, newly_copied());
  }
}

void MessageWork::receive_from(const Prepared& prepared, int peer) {
  for (const PeerMessage& message : prepared.messages.receives) {
    if (message.peer == peer) context_.transport->receive(peer, message.offset, message.bytes);
  }
}

/// A pattern's message is packed where it must come from elsewhere than the slot that holds it.
void MessageWork::pack(const Prepared& prepared, const PeerMessage& message, std::byte* to) {
  if (prepared.phase->halo) {
    context_.packer->copy(layout_->packed(*prepared.phase->halo, message.peer, to));
    return;
  }
  const std::byte* const from =
      context_.messages->data() + slots_.to().at(message.peer).offset + message.offset;
  if (from == to) return;
  const Bytes words = (message.bytes + word_bytes - 1) / word_bytes;
  context_.packer->copy({{to, words * word_bytes, from, words * word_bytes, words, 1}});
  if (context_.transport->order() == MessageOrder::host) context_.packer->synchronise();
}

void MessageWork::unpack_all(const Prepared& prepared) {
  for (const PeerMessage& message : prepared.messages.receives) {
    context_.packer->copy(layout_->unpacked(*prepared.phase->halo, message.peer,
                                            context_.transport->incoming(message.peer, message.offset)));
  }
}

Seconds MessageWork::newly_copied() {
  const Seconds all = context_.transport->copied();
  return all - std::exchange(copied_, all);
}

void MessageWork::spoil(const PhasePlace& place) {
  const Prepared& prepared = at(place);
  for (const PeerMessage& message : prepared.messages.receives) {
    if (!prepared.phase->halo) {
      context_.packer->poison(
          words_at(slots_.from().at(message.peer).offset + message.offset, message.bytes));
      continue;
    }
    const HaloExchange& halo = *prepared.phase->halo;
    for (const int field : halo.fields)
      context_.packer->poison(layout_->halo(field, halo.depth, halo.axis, message.peer));
  }
  context_.packer->synchronise();
}

std::optional<std::string> MessageWork::wrong(const PhasePlace& place) {
  const Prepared& prepared = at(place);
  if (prepared.phase->halo) return wrong_halo(prepared);
  context_.packer->synchronise();
  for (const PeerMessage& message : prepared.messages.receives) {
    if (auto what = wrong_bytes(message)) return "after " + prepared.phase->name + ": " + *what;
  }
  return std::nullopt;
}

std::optional<std::string> MessageWork::wrong_halo(const Prepared& prepared) {
  const HaloExchange& halo = *prepared.phase->halo;
  for (const PeerMessage& message : prepared.messages.receives) {
    for (const int field : halo.fields) {
      const auto word =
          context_.packer->compare(layout_->halo(field, halo.depth, halo.axis, message.peer), seed_);
      if (!word) continue;
      const HaloLayout::Place cell = layout_->place(field, halo.depth, halo.axis, message.peer, *word);
      return "after " + prepared.phase->name + ": the halo of rank " + std::to_string(context_.rank) +
             " has not what rank " + std::to_string(message.peer) + " has of " +
             layout_->grid().fields[static_cast<std::size_t>(field)].name + " at column " +
             std::to_string(cell.column) + ", row " + std::to_string(cell.row);
    }
  }
  return std::nullopt;
}

std::optional<std::string> MessageWork::wrong_bytes(const PeerMessage& message) const {
  const std::uint64_t seed = shifted_seed(seed_of(message.peer, context_.rank), message.offset / word_bytes);
  GridBox words = words_at(slots_.from().at(message.peer).offset + message.offset, message.bytes);
  const Bytes tail = message.bytes % word_bytes;
  if (tail > 0) --words.columns;
  const auto wrong = words.columns > 0 ? context_.packer->compare(words, seed) : std::nullopt;
  std::optional<Bytes> offset;
  if (wrong) {
    offset = wrong->column * word_bytes;
  } else if (tail > 0) {  // what the message does not fill of its last word is no part of it
    const std::uint64_t difference = context_.packer->read_word(words.base + words.columns * word_bytes) ^
                                     pattern_word(seed, words.columns);
    if ((difference & ((std::uint64_t{1} << (8 * tail)) - 1)) != 0) offset = words.columns * word_bytes;
  }
  if (!offset) return std::nullopt;
  return "in the " + std::to_string(message.bytes) + " bytes from rank " + std::to_string(message.peer) +
         " to rank " + std::to_string(context_.rank) + ", the word at byte " + std::to_string(*offset) +
         " is not what was sent";
}

/// One row of them: as many as hold `bytes`.
GridBox MessageWork::words_at(Bytes offset, Bytes bytes) const {
  const std::uint64_t words = (bytes + word_bytes - 1) / word_bytes;
  return {context_.messages->data() + offset, words * word_bytes, words, 1, 0, 0};
}

/// Of a pattern, the phase that has most of a slot: what came before it, it has overwritten.
std::optional<std::string> MessageWork::wrong_at_end() {
  context_.packer->synchronise();
  std::map<int, const PeerMessage*> largest;
  for (const auto& loop : prepared_) {
    for (const Prepared& prepared : loop) {
      if (!prepared.takes_place) continue;
      if (prepared.phase->halo) {
        if (auto what = wrong_halo(prepared)) return what;
        continue;
      }
      for (const PeerMessage& message : prepared.messages.receives) {
        const PeerMessage*& known = largest[message.peer];
        if (known == nullptr || message.bytes > known->bytes) known = &message;
      }
    }
  }
  for (const auto& [peer, message] : largest) {
    if (auto what = wrong_bytes(*message)) return what;
  }
  return std::nullopt;
}

Bytes MessageWork::checked_bytes() const {
  Bytes bytes = 0;
  for (const auto& loop : prepared_) {
    for (const Prepared& prepared : loop) {
      for (const PeerMessage& message : prepared.messages.receives) bytes += message.bytes;
    }
  }
  return bytes;
}

/// Of a slot between two ranks, which both know.
std::uint64_t MessageWork::seed_of(int source, int destination) const {
  return seed_ + pattern_word(static_cast<std::uint64_t>(source), static_cast<std::uint64_t>(destination));
}

}  // namespace linkscope::workload
