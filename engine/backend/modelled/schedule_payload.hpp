// SchedulePayload: the real bytes behind a modelled schedule, all ranks' together.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backend/modelled/flow_payload.hpp"
#include "backend/modelled/pair_buffers.hpp"

namespace linkscope::modelled {

/// Every two ranks' buffers hold real bytes at their beginning, as many as have room in what is real of the ranks'
/// buffers (ModelledBuffer::window) beside one another. Those arrive; nothing is packed, reduced or counted.
class SchedulePayload {
 public:
  /// `arenas`: by rank what it sends from and receives in; they outlive it.
  SchedulePayload(const PairBuffers& buffers, std::vector<Arenas> arenas);

  void arm(int rank, std::uint64_t seed) const;
  void move() const;
  /// Damages one byte of the first message.
  void spoil() const;
  [[nodiscard]] std::optional<Mismatch> verify(int rank, std::uint64_t seed) const;
  /// Of what the rank receives.
  [[nodiscard]] Bytes verified_bytes(int rank) const;

 private:
  /// The real bytes from one rank to another, and where they are in either arena.
  struct Share {
    int sender = 0;
    int receiver = 0;
    Bytes from_at = 0;
    Bytes to_at = 0;
    Bytes length = 0;
  };

  [[nodiscard]] Buffer& outgoing(const Share& share) const;
  [[nodiscard]] Buffer& incoming(const Share& share) const;
  /// A pattern of its own for each two ranks.
  [[nodiscard]] std::uint64_t seed_of(const Share& share, std::uint64_t seed) const;

  std::vector<Arenas> arenas_;
  std::vector<Share> shares_;
};

/// The part of rank `rank`: the first one's moves everyone's bytes.
std::unique_ptr<FlowPayload> make_rank_payload(std::shared_ptr<const SchedulePayload> payload, int rank);

}  // namespace linkscope::modelled
