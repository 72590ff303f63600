// MessageCheck: arms and verifies one end of a flow of messages, which may go both ways.
#pragma once

#include <cstdint>
#include <optional>

#include "model/copy_check.hpp"
#include "model/flow_part.hpp"

namespace linkscope {

/// Which end of a flow a process has.
enum class Side { source, destination };

[[nodiscard]] inline Side other(Side side) { return side == Side::source ? Side::destination : Side::source; }

/// One process sends from its source arena and receives into its destination arena; either may be null. Both processes'
/// checks are armed with one seed. Messages on their way back hold another pattern: an end that got its own would be
/// found out.
class MessageCheck final : public Check {
 public:
  /// `messages`: of one transfer. As CopyCheck: the buffers outlive the check. Throws Error{bad_input}.
  MessageCheck(Side side, const Arenas& arenas, Bytes bytes, Rotation rotation, std::uint64_t messages = 1)
      : side_(side),
        out_(arenas.source, nullptr, bytes, rotation),
        in_(nullptr, arenas.destination, bytes, rotation),
        messages_(messages) {}

  void arm(std::uint64_t seed) override {
    out_.arm(seed_of(seed, side_));
    in_.arm(seed_of(seed, other(side_)));
  }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed, std::uint64_t transfers) const override {
    return in_.verify(seed_of(seed, other(side_)), transfers * messages_);
  }
  [[nodiscard]] Bytes verified_bytes(std::uint64_t transfers) const override {
    return in_.verified_bytes(transfers * messages_);
  }
  /// Flushes both arenas from the CPU caches.
  void flush() override {
    out_.flush();
    in_.flush();
  }

 private:
  static std::uint64_t seed_of(std::uint64_t seed, Side sender) {
    constexpr std::uint64_t way_back = 0x5851F42D4C957F2DULL;
    return sender == Side::source ? seed : seed ^ way_back;
  }

  Side side_;
  CopyCheck out_;
  CopyCheck in_;
  std::uint64_t messages_;  ///< of one transfer
};

}  // namespace linkscope
