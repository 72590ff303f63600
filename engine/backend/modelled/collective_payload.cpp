// What each kind of collective moves where, on real bytes.
#include "backend/modelled/collective_payload.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>

#include "backend/modelled/buffer.hpp"

namespace linkscope::modelled {
namespace {

using Kind = CollectiveKind;

/// The number that `bits` are of; whole ones, as inputs and sums are.
int number_of(ElementType type, std::uint32_t bits) {
  if (type == ElementType::int32) return static_cast<int>(bits);
  if (type == ElementType::bfloat16) bits <<= 16U;
  if (type == ElementType::float16) {
    const std::uint32_t magnitude = (bits & 0x7FFFU) << 13U;
    constexpr std::uint32_t bias = (127U - 15U) << 23U;
    bits = magnitude == 0 ? 0 : ((bits & 0x8000U) << 16U) | (magnitude + bias);
  }
  return static_cast<int>(std::bit_cast<float>(bits));
}

/// A collective of the same kind that fits into what is real of the members' buffers.
CollectiveShape within_window(CollectiveShape shape) {
  const Bytes unit = shape.element_bytes() * static_cast<Bytes>(shape.members);
  if (shape.bytes > ModelledBuffer::window) shape.bytes = ModelledBuffer::window / unit * unit;
  return shape;
}

class MemberShare : public FlowPayload {
 public:
  MemberShare(std::shared_ptr<CollectivePayload> payload, int index)
      : payload_(std::move(payload)), index_(index) {}

  void arm(std::uint64_t seed) override {
    payload_->check(index_).arm(seed);
    payload_->begin();
  }
  void move() override {
    if (index_ == 0) payload_->move();
  }
  void spoil() override { payload_->spoil(); }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override {
    return payload_->check(index_).verify(seed, 1);
  }
  [[nodiscard]] Bytes verified_bytes() const override { return payload_->check(index_).verified_bytes(1); }

 private:
  std::shared_ptr<CollectivePayload> payload_;
  int index_;
};

}  // namespace

CollectivePayload::CollectivePayload(const CollectiveShape& shape, std::vector<Arenas> arenas)
    : shape_(within_window(shape)), arenas_(std::move(arenas)) {
  for (std::size_t i = 0; i < arenas_.size(); ++i)
    checks_.emplace_back(shape_, static_cast<int>(i), arenas_[i]);
}

void CollectivePayload::move() {
  if (shape_.accumulates() && moved_) return;
  moved_ = true;
  const Bytes block = shape_.bytes / static_cast<Bytes>(shape_.members);
  for (int to = 0; to < shape_.members; ++to) {
    if (!shape_.receives(to)) continue;
    const Bytes own = static_cast<Bytes>(to) * block;
    switch (shape_.kind) {
      case Kind::barrier:
      case Kind::all_reduce:
        break;
      case Kind::reduce:
        reduce(0, to);
        break;
      case Kind::reduce_scatter:
        reduce(own, to);
        break;
      case Kind::broadcast:
        copy(0, 0, to, 0, shape_.bytes);
        break;
      case Kind::all_gather:
      case Kind::all_to_all: {
        const Bytes from_at = shape_.kind == Kind::all_gather ? 0 : own;
        for (int from = 0; from < shape_.members; ++from)
          copy(from, from_at, to, static_cast<Bytes>(from) * block, block);
        break;
      }
    }
  }
  if (shape_.kind != Kind::all_reduce) return;
  reduce(0, 0);  // once for all: in place everyone's output replaces an input
  for (int to = 1; to < shape_.members; ++to) {
    std::memcpy(arenas_[static_cast<std::size_t>(to)].destination->data(), arenas_[0].destination->data(),
                shape_.bytes);
  }
}

void CollectivePayload::spoil() {
  for (const Arenas& arenas : arenas_) {
    if (arenas.destination == nullptr) continue;
    *arenas.destination->data() ^= flipped_bit;
    return;
  }
}

const Buffer& CollectivePayload::input_of(int member) const {
  const Arenas& arenas = arenas_[static_cast<std::size_t>(member)];
  return arenas.source != nullptr ? *arenas.source : *arenas.destination;
}

/// Where a member's input begins: in place an all-gather's is its block of the output.
Bytes CollectivePayload::input_at(int member) const {
  const bool within = shape_.place == InPlace::in && shape_.kind == Kind::all_gather;
  return within ? static_cast<Bytes>(member) * shape_.source_bytes() : 0;
}

/// Adds everyone's elements from byte `from` on up into the receiver's output.
void CollectivePayload::reduce(Bytes from, int receiver) {
  Buffer& result = *arenas_[static_cast<std::size_t>(receiver)].destination;
  const Bytes width = shape_.element_bytes();
  for (Bytes at = 0; at < shape_.destination_bytes(); at += width) {
    int sum = 0;
    for (int member = 0; member < shape_.members; ++member) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, input_of(member).data() + from + at, width);
      sum += number_of(shape_.type, bits);
    }
    const std::uint32_t bits = element_bits(shape_.type, sum);
    std::memcpy(result.data() + at, &bits, width);
  }
}

void CollectivePayload::copy(int from, Bytes from_at, int to, Bytes to_at, Bytes length) {
  const std::byte* const input = input_of(from).data() + input_at(from) + from_at;
  std::memmove(arenas_[static_cast<std::size_t>(to)].destination->data() + to_at, input, length);
}

std::unique_ptr<FlowPayload> make_share(std::shared_ptr<CollectivePayload> payload, int index) {
  return std::make_unique<MemberShare>(std::move(payload), index);
}

}  // namespace linkscope::modelled
