#include "model/copy_check.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "model/pattern.hpp"

namespace linkscope {

namespace {

std::string name_of(const Buffer& buffer) {
  return buffer.where().device.text() + " " + buffer.where().memory;
}

}  // namespace

CopyCheck::CopyCheck(Buffer* source, Buffer* destination, Bytes bytes, Rotation rotation)
    : source_(source), destination_(destination), bytes_(bytes), rotation_(rotation) {
  if (bytes == 0 || rotation.slots == 0)
    throw Error(Fault::bad_input, "a copy needs at least one byte and one slot");
  if (rotation.slots > 1 && (rotation.stride < bytes || rotation.stride % word_bytes != 0)) {
    throw Error(Fault::bad_input, "slots of " + std::to_string(bytes) + " B cannot be " +
                                      std::to_string(rotation.stride) + " B apart");
  }
  for (const Buffer* buffer : {source, destination}) {
    if (buffer != nullptr && buffer->bytes() < extent()) {
      throw Error(Fault::bad_input, name_of(*buffer) + " buffer holds " + std::to_string(buffer->bytes()) +
                                        " B, its slots need " + std::to_string(extent()) + " B");
    }
  }
}

void CopyCheck::arm(std::uint64_t seed) {
  if (source_ != nullptr) source_->fill(0, extent(), seed);
  if (destination_ != nullptr) destination_->poison(0, extent());
}

std::uint64_t CopyCheck::slot_seed(std::uint64_t seed, std::uint64_t slot) const {
  return shifted_seed(seed, slot * (rotation_.stride / word_bytes));
}

std::uint64_t CopyCheck::compared_slots(std::uint64_t slots_touched) const {
  return destination_ == nullptr ? 0 : std::min(slots_touched, rotation_.slots);
}

Bytes CopyCheck::verified_bytes(std::uint64_t slots_touched) const {
  return compared_slots(slots_touched) * bytes_;
}

std::optional<Mismatch> CopyCheck::verify(std::uint64_t seed, std::uint64_t slots_touched) const {
  const std::uint64_t slots = compared_slots(slots_touched);
  if (slots > 1 && rotation_.stride == bytes_) {  // no gaps: one pass over all of it
    const auto bad = destination_->compare(0, slots * bytes_, seed);
    if (bad) return describe(seed, *bad / bytes_, *bad % bytes_);
    return std::nullopt;
  }
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    const auto bad = destination_->compare(slot * rotation_.stride, bytes_, slot_seed(seed, slot));
    if (bad) return describe(seed, slot, *bad);
  }
  return std::nullopt;
}

void CopyCheck::flush() {
  if (source_ != nullptr) source_->flush(0, extent());
  if (destination_ != nullptr) destination_->flush(0, extent());
}

Mismatch CopyCheck::describe(std::uint64_t seed, std::uint64_t slot, Bytes offset) const {
  std::string what = "byte " + std::to_string(offset) + " of " + std::to_string(bytes_);
  if (rotation_.slots > 1)
    what += " in slot " + std::to_string(slot) + " of " + std::to_string(rotation_.slots);
  what += " arrived wrong in " + name_of(*destination_);
  if (source_ != nullptr && source_->compare(slot * rotation_.stride, bytes_, slot_seed(seed, slot))) {
    what += "; the source, " + name_of(*source_) + ", no longer holds its pattern either";
  }
  return Mismatch{what};
}

}  // namespace linkscope
