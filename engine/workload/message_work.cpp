// The phases of a halo exchange, and of a pattern whose messages are packed from nothing.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "model/pattern.hpp"
#include "workload/halo_layout.hpp"
#include "workload/phase_work.hpp"

namespace linkscope::workload {
namespace {

/// Returns one row of as many words as hold `bytes`.
GridBox words_at(std::byte* at, Bytes bytes) {
  const std::uint64_t words = (bytes + word_bytes - 1) / word_bytes;
  return {at, words * word_bytes, words, 1, 0, 0};
}

/// Puts messages to the ranks behind `rank` first: with the lowest first, all ranks would send to rank 0 at once.
void begin_with_next(std::vector<PeerMessage>& sends, int rank) {
  const auto behind =
      std::find_if(sends.begin(), sends.end(), [&](const auto& one) { return one.peer > rank; });
  std::rotate(sends.begin(), behind, sends.end());
}

class MessageWork final : public PhaseWork {
 public:
  explicit MessageWork(RankContext context) : PhaseWork(std::move(context)) {
    if (schedule().grid) layout_.emplace(*schedule().grid, context_.rank, context_.state->data());
    for (const Loop& loop : schedule().loops) {
      for (const Phase& phase : loop.phases) {
        Prepared now{&phase, messages_of(phase, context_.rank), Schedule::times(loop, phase) > 0};
        if (!phase.halo) begin_with_next(now.messages.sends, context_.rank);
        if (&phase != &loop.phases.front()) prepared_.back().goes_on = goes_on(*prepared_.back().phase, now);
        for (const PeerMessage& message : now.messages.receives) checked_bytes_ += message.bytes;
        prepared_.push_back(std::move(now));
      }
    }
  }

  void arm(std::uint64_t seed) override {
    use(seed);
    if (!layout_) return;  // each phase's messages are renewed before they are first sent
    const auto fields = static_cast<int>(schedule().grid->fields.size());
    for (int field = 0; field < fields; ++field) packer().fill(layout_->whole(field), seed_);
    packer().synchronise();
  }

  void carry_out(std::size_t phase, PartClock& clock) override {
    const Prepared& prepared = prepared_[phase];
    if (!prepared.messages.any()) return;
    const bool by_host = this->by_host();
    if (!prepared.phase->halo) {
      for (const PeerMessage& message : prepared.messages.receives)
        transport().receive(message.peer, message.offset, message.bytes);
      clock.lap(WorkPart::send);
    }
    send_all(prepared, clock);
    transport().wait();
    clock.lap(WorkPart::wait, newly_copied());
    if (prepared.phase->halo) {
      for (const PeerMessage& message : prepared.messages.receives)
        packer().copy(layout_->unpacked(*prepared.phase->halo, message.peer, incoming(message)));
      if (by_host) packer().synchronise();
    }
    transport().unpacked();
    clock.lap(WorkPart::unpack);
    if (by_host || prepared.goes_on) return;
    packer().synchronise();
    clock.lap(WorkPart::synchronise);
  }

  /// Poison goes first: where chunks are smaller than the halo is deep, what is sent must be whole.
  void renew(std::size_t phase) override {
    const Prepared& prepared = prepared_[phase];
    spoil(prepared);
    for (const PeerMessage& message : prepared.messages.sends) {
      if (!prepared.phase->halo) {
        packer().fill(words_at(outgoing(message), message.bytes),
                      shifted_seed(seed_of(context_.rank, message.peer), message.offset / word_bytes));
        continue;
      }
      for (const int field : prepared.phase->halo->fields)
        packer().fill(layout_->edge(field, *prepared.phase->halo, message.peer), seed_);
    }
    packer().synchronise();
  }

  void spoil_all() override {
    for (const Prepared& prepared : prepared_) {
      if (prepared.takes_place) spoil(prepared);
    }
    packer().synchronise();
  }

  [[nodiscard]] std::optional<std::string> wrong(std::size_t phase) override {
    const Prepared& prepared = prepared_[phase];
    if (prepared.phase->halo) return wrong_halo(prepared);
    packer().synchronise();
    for (const PeerMessage& message : prepared.messages.receives) {
      if (auto what = wrong_bytes(message)) return "after " + prepared.phase->name + ": " + *what;
    }
    return std::nullopt;
  }

  /// Messages of a pattern's phases overwrite one another in a slot: the largest one from each peer is still there.
  [[nodiscard]] std::optional<std::string> wrong_at_end() override {
    packer().synchronise();
    std::map<int, const PeerMessage*> largest;
    for (const Prepared& prepared : prepared_) {
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
    for (const auto& [peer, message] : largest) {
      if (auto what = wrong_bytes(*message)) return what;
    }
    return std::nullopt;
  }

  [[nodiscard]] Bytes checked_bytes() const override { return checked_bytes_; }

 private:
  struct Prepared {
    const Phase* phase = nullptr;
    RankMessages messages;
    bool takes_place =
        true;  ///< false: its loop has fewer repeats than it waits for; it is checked, never timed
    bool goes_on = false;  ///< the device is synchronised after the next one
  };

  /// Says whether `next` is the exchange along the other axis, after which the device is synchronised for both. A phase
  /// without messages of this rank returns at once, so it synchronises for no phase before it.
  [[nodiscard]] static bool goes_on(const Phase& now, const Prepared& next) {
    return next.messages.any() && now.halo && next.phase->halo && now.halo->axis != next.phase->halo->axis &&
           now.halo->fields == next.phase->halo->fields && now.collectives.empty() &&
           now.every == next.phase->every;
  }

  [[nodiscard]] bool by_host() const { return transport().order() == MessageOrder::host; }
  [[nodiscard]] std::byte* outgoing(const PeerMessage& message) const {
    return context_.messages->data() + slots_.to.at(message.peer).offset + message.offset;
  }
  [[nodiscard]] std::byte* incoming(const PeerMessage& message) const {
    return context_.messages->data() + slots_.from.at(message.peer).offset + message.offset;
  }
  /// Both ranks know the seed of the slot between them.
  [[nodiscard]] std::uint64_t seed_of(int source, int destination) const {
    return seed_ + pattern_word(static_cast<std::uint64_t>(source), static_cast<std::uint64_t>(destination));
  }

  /// In a halo exchange the receive from a neighbour is posted beside the message that goes there.
  void send_all(const Prepared& prepared, PartClock& clock) {
    const bool by_host = this->by_host();
    for (const PeerMessage& message : prepared.messages.sends) {
      std::byte* const to = transport().outgoing(message.peer, message.offset);
      clock.lap(WorkPart::wait);
      pack(prepared, message, to);
      if (by_host && prepared.phase->halo) packer().synchronise();
      clock.lap(WorkPart::pack);
      if (prepared.phase->halo) {
        for (const PeerMessage& back : prepared.messages.receives) {
          if (back.peer == message.peer) transport().receive(back.peer, back.offset, back.bytes);
        }
      }
      transport().send(message.peer, message.offset, message.bytes);
      clock.lap(WorkPart::send, newly_copied());
    }
  }

  /// A pattern's message is packed where the transport sends from elsewhere than the slot that holds it.
  void pack(const Prepared& prepared, const PeerMessage& message, std::byte* to) {
    if (prepared.phase->halo) {
      packer().copy(layout_->packed(*prepared.phase->halo, message.peer, to));
      return;
    }
    const std::byte* const from = outgoing(message);
    if (from == to) return;
    const Bytes words = (message.bytes + word_bytes - 1) / word_bytes;
    packer().copy({{to, words * word_bytes, from, words * word_bytes, words, 1}});
    if (by_host()) packer().synchronise();
  }

  [[nodiscard]] Seconds newly_copied() {
    const Seconds all = transport().copied();
    return all - std::exchange(copied_, all);
  }

  void spoil(const Prepared& prepared) {
    for (const PeerMessage& message : prepared.messages.receives) {
      if (!prepared.phase->halo) {
        packer().poison(words_at(incoming(message), message.bytes));
        continue;
      }
      for (const int field : prepared.phase->halo->fields)
        packer().poison(layout_->halo(field, *prepared.phase->halo, message.peer));
    }
  }

  [[nodiscard]] std::optional<std::string> wrong_halo(const Prepared& prepared) {
    const HaloExchange& halo = *prepared.phase->halo;
    for (const PeerMessage& message : prepared.messages.receives) {
      for (const int field : halo.fields) {
        const auto word = packer().compare(layout_->halo(field, halo, message.peer), seed_);
        if (!word) continue;
        const HaloLayout::Place cell = layout_->place(field, halo, message.peer, *word);
        return "after " + prepared.phase->name + ": the halo of rank " + std::to_string(context_.rank) +
               " has not what rank " + std::to_string(message.peer) + " has of " +
               schedule().grid->fields[static_cast<std::size_t>(field)].name + " at column " +
               std::to_string(cell.column) + ", row " + std::to_string(cell.row);
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::string> wrong_bytes(const PeerMessage& message) const {
    const std::uint64_t seed =
        shifted_seed(seed_of(message.peer, context_.rank), message.offset / word_bytes);
    GridBox words = words_at(incoming(message), message.bytes);
    const Bytes tail = message.bytes % word_bytes;
    if (tail > 0) --words.columns;
    const auto wrong = words.columns > 0 ? packer().compare(words, seed) : std::nullopt;
    std::optional<Bytes> offset;
    if (wrong) {
      offset = wrong->column * word_bytes;
    } else if (tail > 0) {  // what the message does not fill of its last word is no part of it
      const std::uint64_t difference =
          packer().read_word(words.base + words.columns * word_bytes) ^ pattern_word(seed, words.columns);
      if ((difference & ((std::uint64_t{1} << (8 * tail)) - 1)) != 0) offset = words.columns * word_bytes;
    }
    if (!offset) return std::nullopt;
    return "in the " + std::to_string(message.bytes) + " bytes from rank " + std::to_string(message.peer) +
           " to rank " + std::to_string(context_.rank) + ", the word at byte " + std::to_string(*offset) +
           " is not what was sent";
  }

  std::optional<HaloLayout> layout_;
  std::vector<Prepared> prepared_;  ///< by phase
  Bytes checked_bytes_ = 0;
  Seconds copied_ = 0;
};

}  // namespace

std::unique_ptr<PhaseWork> message_work(RankContext context) {
  return std::make_unique<MessageWork>(std::move(context));
}

}  // namespace linkscope::workload
