// The ways bytes end up somewhere: delivered, read, exchanged, or there are none.
#include "backend/modelled/flow_payload.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "backend/modelled/buffer.hpp"
#include "model/copy_check.hpp"

namespace linkscope::modelled {
namespace {

Bytes real(Bytes bytes) { return std::min(bytes, ModelledBuffer::window); }

/// Copies and flags: the source's bytes, or those a kernel makes up, end up in the destination.
class CopyPayload : public FlowPayload {
 public:
  CopyPayload(Buffer* source, Buffer* destination, Bytes bytes)
      : source_(source),
        destination_(destination),
        bytes_(bytes),
        check_(source, destination, bytes, {bytes, 1}) {}

  void arm(std::uint64_t seed) override {
    seed_ = seed;
    check_.arm(seed);
  }
  void move() override {
    if (source_ == nullptr) {
      destination_->fill(0, bytes_, check_.slot_seed(seed_, 0));
    } else {
      std::memcpy(destination_->data(), source_->data(), real(bytes_));
    }
  }
  void spoil() override { destination_->data()[real(bytes_) / 2] ^= flipped_bit; }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override {
    return check_.verify(seed, 1);
  }
  [[nodiscard]] Bytes verified_bytes() const override { return real(bytes_); }

 private:
  Buffer* source_;
  Buffer* destination_;
  Bytes bytes_;
  CopyCheck check_;
  std::uint64_t seed_ = 0;
};

/// Reads and chases: the executor compares what it loads while it loads it.
class ReadPayload : public FlowPayload {
 public:
  ReadPayload(Buffer* source, Bytes bytes) : source_(source), bytes_(bytes) {}

  void arm(std::uint64_t seed) override {
    seed_ = seed;
    source_->fill(0, bytes_, seed);
    outcome_ = Mismatch{"nothing was read"};
  }
  void move() override { look(); }
  void spoil() override {
    source_->data()[real(bytes_) / 2] ^= flipped_bit;
    look();
  }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t /*seed*/) const override { return outcome_; }
  [[nodiscard]] Bytes verified_bytes() const override { return real(bytes_); }

 private:
  void look() {
    outcome_.reset();
    if (const auto bad = source_->compare(0, bytes_, seed_)) {
      outcome_ = Mismatch{"read wrong data at offset " + std::to_string(*bad)};
    }
  }

  Buffer* source_;
  Bytes bytes_;
  std::uint64_t seed_ = 0;
  std::optional<Mismatch> outcome_;
};

/// Half of the real bytes goes from source to destination, the other half comes back.
class ExchangePayload : public FlowPayload {
 public:
  ExchangePayload(Buffer* source, Buffer* destination, Bytes bytes)
      : source_(source), destination_(destination), there_(real(bytes) / 2), back_(real(bytes) - there_) {}

  void arm(std::uint64_t seed) override {
    source_->fill(0, there_, seed);
    source_->poison(there_, back_);
    destination_->poison(0, there_);
    destination_->fill(there_, back_, ~seed);
  }
  void move() override {
    std::memcpy(destination_->data(), source_->data(), there_);
    std::memcpy(source_->data() + there_, destination_->data() + there_, back_);
  }
  void spoil() override { source_->data()[there_] ^= flipped_bit; }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override {
    if (const auto bad = destination_->compare(0, there_, seed)) {
      return Mismatch{"destination differs at offset " + std::to_string(*bad)};
    }
    if (const auto bad = source_->compare(there_, back_, ~seed)) {
      return Mismatch{"source differs at offset " + std::to_string(there_ + *bad)};
    }
    return std::nullopt;
  }
  [[nodiscard]] Bytes verified_bytes() const override { return there_ + back_; }

 private:
  Buffer* source_;
  Buffer* destination_;
  Bytes there_;
  Bytes back_;
};

/// An empty message has nothing to move.
class EmptyPayload : public FlowPayload {
 public:
  void arm(std::uint64_t /*seed*/) override {}
  void move() override {}
  void spoil() override {}
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t /*seed*/) const override { return std::nullopt; }
  [[nodiscard]] Bytes verified_bytes() const override { return 0; }
};

}  // namespace

std::unique_ptr<FlowPayload> make_payload(Motion shape, const Arenas& arenas, Bytes bytes) {
  if (bytes == 0) return std::make_unique<EmptyPayload>();
  switch (shape) {
    case Motion::read:
    case Motion::chase:
      return std::make_unique<ReadPayload>(arenas.source, bytes);
    case Motion::exchange:
      return std::make_unique<ExchangePayload>(arenas.source, arenas.destination, bytes);
    case Motion::write:
      return std::make_unique<CopyPayload>(nullptr, arenas.destination, bytes);
    case Motion::copy:
    case Motion::stream:
    case Motion::ping_pong:
      break;
  }
  return std::make_unique<CopyPayload>(arenas.source, arenas.destination, bytes);
}

}  // namespace linkscope::modelled
