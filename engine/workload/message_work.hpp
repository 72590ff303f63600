// MessageWork: the phases of a halo exchange, and of a pattern whose messages are packed from nothing.
#pragma once

#include <map>
#include <vector>

#include "workload/halo_layout.hpp"
#include "workload/message_slots.hpp"
#include "workload/phase_work.hpp"

namespace linkscope::workload {

/// A halo exchange as CloverLeaf makes it: for each neighbour along the axis it packs, synchronises the device, begins to
/// send and to receive; then it waits for all, unpacks, and synchronises. Without a halo all receives are posted first.
/// Where the device keeps the order (MessageOrder::device), it is synchronised once, when the exchange along both axes is
/// enqueued.
class MessageWork final : public PhaseWork {
 public:
  explicit MessageWork(const RankContext& context);

  void arm(std::uint64_t seed) override;
  void carry_out(const PhasePlace& place, PartClock& clock) override;
  void spoil(const PhasePlace& place) override;
  void spoil_all() override;
  [[nodiscard]] std::optional<std::string> wrong(const PhasePlace& place) override;
  [[nodiscard]] std::optional<std::string> wrong_at_end() override;
  [[nodiscard]] Bytes checked_bytes() const override;

 private:
  enum class AfterPhase { nothing, synchronise };

  struct Prepared {
    const Phase* phase = nullptr;
    RankMessages messages;
    AfterPhase after = AfterPhase::synchronise;
    bool takes_place =
        true;  ///< false: its loop has fewer repeats than it waits for; only checked, never timed
  };

  [[nodiscard]] const Prepared& at(const PhasePlace& place) const {
    return prepared_[place.loop][place.phase];
  }
  void receive_from(const Prepared& prepared, int peer);
  void send_all(const Prepared& prepared, PartClock& clock);
  void unpack_all(const Prepared& prepared);
  void pack(const Prepared& prepared, const PeerMessage& message, std::byte* to);
  [[nodiscard]] Seconds newly_copied();
  [[nodiscard]] std::optional<std::string> wrong_halo(const Prepared& prepared);
  [[nodiscard]] std::optional<std::string> wrong_bytes(const PeerMessage& message) const;
  [[nodiscard]] GridBox words_at(Bytes offset, Bytes bytes) const;
  [[nodiscard]] std::uint64_t seed_of(int source, int destination) const;

  RankContext context_;
  MessageSlots slots_;
  std::optional<HaloLayout> layout_;
  std::vector<std::vector<Prepared>> prepared_;  ///< by loop and phase
  std::uint64_t seed_ = 0;
  Seconds copied_ = 0;
};

}  // namespace linkscope::workload
