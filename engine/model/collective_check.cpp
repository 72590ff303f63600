// The result that each kind of collective must leave in each member's memory.
#include "model/collective_check.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"

namespace linkscope {
namespace {

using Kind = CollectiveKind;

constexpr std::uint64_t slot_step = 0x1000003;  // seeds of slots differ

void require_room(const Buffer* buffer, const Rotation& rotation) {
  if (buffer == nullptr || buffer->bytes() >= rotation.stride * rotation.slots) return;
  throw Error(Fault::bad_input, "a collective's buffer is smaller than its slots");
}

}  // namespace

CollectiveCheck::CollectiveCheck(const CollectiveShape& shape, int index, const Arenas& arenas,
                                 Bytes output_offset)
    : shape_(shape), index_(index), arenas_(arenas), output_offset_(output_offset) {
  require_room(arenas.source, arenas.rotation);
  require_room(arenas.destination, arenas.rotation);
}

void CollectiveCheck::arm(std::uint64_t seed) {
  seed_ = seed;
  for (std::uint64_t slot = 0; slot < arenas_.rotation.slots; ++slot) {
    arm_slot(arenas_.rotation.at(slot), seed + slot * slot_step);
  }
}

void CollectiveCheck::restore(std::uint64_t slots_touched) {
  if (!shape_.accumulates()) return;
  for (std::uint64_t slot = 0; slot < std::min(slots_touched, arenas_.rotation.slots); ++slot)
    arm_slot(arenas_.rotation.at(slot), seed_ + slot * slot_step);
}

std::optional<Mismatch> CollectiveCheck::verify(std::uint64_t seed, std::uint64_t slots_touched) const {
  const std::uint64_t slots = std::min(slots_touched, arenas_.rotation.slots);
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    if (auto wrong = verify_slot(arenas_.rotation.at(slot), seed + slot * slot_step)) return wrong;
  }
  return std::nullopt;
}

Bytes CollectiveCheck::verified_bytes(std::uint64_t slots_touched) const {
  if (!shape_.receives(index_)) return 0;
  return std::min(slots_touched, arenas_.rotation.slots) * shape_.destination_bytes();
}

void CollectiveCheck::flush() {
  for (Buffer* buffer : {arenas_.source, arenas_.destination}) {
    if (buffer != nullptr) buffer->flush(0, arenas_.rotation.stride * arenas_.rotation.slots);
  }
}

Elements CollectiveCheck::elements(Values values, int member, Bytes from) const {
  return {shape_.type, values, member, shape_.members, from / shape_.element_bytes()};
}

void CollectiveCheck::arm_slot(Bytes at, std::uint64_t seed) const {
  if (arenas_.destination != nullptr) arenas_.destination->poison(at, shape_.destination_bytes());
  if (arenas_.source != nullptr)
    arenas_.source->fill_elements(at, shape_.source_bytes(), elements(Values::input, index_, 0), seed);
  if (shape_.place == InPlace::out || arenas_.destination == nullptr || !shape_.sends(index_)) return;
  arenas_.destination->fill_elements(at + shape_.input_offset(index_), shape_.source_bytes(),
                                     elements(Values::input, index_, 0), seed);
}

std::optional<Mismatch> CollectiveCheck::verify_slot(Bytes at, std::uint64_t seed) const {
  if (!shape_.receives(index_) || arenas_.destination == nullptr) return std::nullopt;
  const Bytes whole = shape_.destination_bytes();
  const Bytes block = shape_.bytes / static_cast<Bytes>(shape_.members);
  const Bytes own = static_cast<Bytes>(index_) * block;
  switch (shape_.kind) {
    case Kind::barrier:
      return std::nullopt;
    case Kind::reduce:
    case Kind::all_reduce:
      return verify_run(at, whole, elements(Values::sum, 0, 0), seed);
    case Kind::broadcast:
      return verify_run(at, whole, elements(Values::input, 0, 0), seed);
    case Kind::reduce_scatter:
      return verify_run(at + output_offset_, whole, elements(Values::sum, 0, own), seed);
    case Kind::all_gather:
    case Kind::all_to_all: {
      const Bytes from = shape_.kind == Kind::all_gather ? 0 : own;
      for (int member = 0; member < shape_.members; ++member) {
        const Bytes place = at + static_cast<Bytes>(member) * block;
        if (auto wrong = verify_run(place, block, elements(Values::input, member, from), seed)) return wrong;
      }
      return std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<Mismatch> CollectiveCheck::verify_run(Bytes at, Bytes length, const Elements& expected,
                                                    std::uint64_t seed) const {
  const auto bad = arenas_.destination->compare_elements(at, length, expected, seed);
  if (!bad) return std::nullopt;
  return Mismatch{std::string(name_of(shape_.kind)) + ": byte " +
                  std::to_string(at % arenas_.rotation.stride + *bad) + " of member " +
                  std::to_string(index_) + " on " + arenas_.destination->where().device.text() + " is wrong"};
}

}  // namespace linkscope
