#include "backend/modelled/schedule_payload.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "backend/modelled/buffer.hpp"
#include "model/pattern.hpp"

namespace linkscope::modelled {
namespace {

class RankPayload : public FlowPayload {
 public:
  RankPayload(std::shared_ptr<const SchedulePayload> payload, int rank)
      : payload_(std::move(payload)), rank_(rank) {}

  void arm(std::uint64_t seed) override { payload_->arm(rank_, seed); }
  void move() override {
    if (rank_ == 0) payload_->move();
  }
  void spoil() override { payload_->spoil(); }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override {
    return payload_->verify(rank_, seed);
  }
  [[nodiscard]] Bytes verified_bytes() const override { return payload_->verified_bytes(rank_); }

 private:
  std::shared_ptr<const SchedulePayload> payload_;
  int rank_;
};

}  // namespace

SchedulePayload::SchedulePayload(const PairBuffers& buffers, std::vector<Arenas> arenas)
    : arenas_(std::move(arenas)) {
  const Bytes most = ModelledBuffer::window / std::max<Bytes>(1, arenas_.size()) / word_bytes * word_bytes;
  std::vector<Bytes> sent(arenas_.size(), 0);
  std::vector<Bytes> received(arenas_.size(), 0);
  for (const auto& [pair, bytes] : buffers.all()) {
    Bytes& from_at = sent.at(static_cast<std::size_t>(pair.first));
    Bytes& to_at = received.at(static_cast<std::size_t>(pair.second));
    const Bytes length = std::min(bytes, most);
    shares_.push_back({pair.first, pair.second, from_at, to_at, length});
    from_at += length;
    to_at += length;
  }
}

void SchedulePayload::arm(int rank, std::uint64_t seed) const {
  for (const Share& share : shares_) {
    if (share.sender == rank) outgoing(share).fill(share.from_at, share.length, seed_of(share, seed));
    if (share.receiver == rank) incoming(share).poison(share.to_at, share.length);
  }
}

void SchedulePayload::move() const {
  for (const Share& share : shares_) {
    std::memcpy(incoming(share).data() + share.to_at, outgoing(share).data() + share.from_at, share.length);
  }
}

void SchedulePayload::spoil() const {
  if (shares_.empty()) return;
  incoming(shares_.front()).data()[shares_.front().to_at] ^= flipped_bit;
}

std::optional<Mismatch> SchedulePayload::verify(int rank, std::uint64_t seed) const {
  for (const Share& share : shares_) {
    if (share.receiver != rank) continue;
    const auto bad = incoming(share).compare(share.to_at, share.length, seed_of(share, seed));
    if (bad)
      return Mismatch{"the message from rank " + std::to_string(share.sender) + " to rank " +
                      std::to_string(rank) + " differs at offset " + std::to_string(*bad)};
  }
  return std::nullopt;
}

Bytes SchedulePayload::verified_bytes(int rank) const {
  Bytes sum = 0;
  for (const Share& share : shares_) sum += share.receiver == rank ? share.length : 0;
  return sum;
}

Buffer& SchedulePayload::outgoing(const Share& share) const {
  return *arenas_.at(static_cast<std::size_t>(share.sender)).source;
}

Buffer& SchedulePayload::incoming(const Share& share) const {
  return *arenas_.at(static_cast<std::size_t>(share.receiver)).destination;
}

std::uint64_t SchedulePayload::seed_of(const Share& share, std::uint64_t seed) const {
  const auto pair =
      static_cast<std::uint64_t>(share.sender) * arenas_.size() + static_cast<std::uint64_t>(share.receiver);
  return seed + (pair + 1) * 0x9E3779B97F4A7C15U;
}

std::unique_ptr<FlowPayload> make_rank_payload(std::shared_ptr<const SchedulePayload> payload, int rank) {
  return std::make_unique<RankPayload>(std::move(payload), rank);
}

}  // namespace linkscope::modelled
