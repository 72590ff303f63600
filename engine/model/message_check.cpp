#include "model/message_check.hpp"

namespace linkscope {
namespace {

constexpr std::uint64_t way_back = 0x5851F42D4C957F2DULL;

std::uint64_t seed_of(std::uint64_t seed, Side sender) {
  return sender == Side::source ? seed : seed ^ way_back;
}

}  // namespace

MessageCheck::MessageCheck(Side side, const Arenas& arenas, Bytes bytes, Rotation rotation,
                           std::uint64_t messages)
    : side_(side),
      out_(arenas.source, nullptr, bytes, rotation),
      in_(nullptr, arenas.destination, bytes, rotation),
      messages_(messages) {}

void MessageCheck::arm(std::uint64_t seed) {
  out_.arm(seed_of(seed, side_));
  in_.arm(seed_of(seed, other(side_)));
}

std::optional<Mismatch> MessageCheck::verify(std::uint64_t seed, std::uint64_t transfers) const {
  return in_.verify(seed_of(seed, other(side_)), transfers * messages_);
}

void MessageCheck::flush() {
  out_.flush();
  in_.flush();
}

}  // namespace linkscope
