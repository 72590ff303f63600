// CopyCheck and MessageCheck: arm and verify the memory of transfers that copy, wherever their ends live.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "model/buffer.hpp"
#include "model/flow_part.hpp"
#include "model/transfer.hpp"

namespace linkscope {

/// Fills the source's slots, poisons the destination's and compares what arrived, each on its own device.
/// The whole source arena holds one pattern, so that every slot holds different data: a copy into the wrong
/// slot is found like a copy of the wrong bytes. Either end may be null (a read, or a write of the pattern).
///
/// A transfer that uses it starts at slot 0 after each arm() and takes the slots in order, round and round.
class CopyCheck final : public Check {
 public:
  /// The buffers outlive the check. Throws Error{bad_input} unless each holds rotation.slots slots of `bytes`
  /// and, where there are several, the stride is a multiple of 8 and not below `bytes`.
  CopyCheck(Buffer* source, Buffer* destination, Bytes bytes, Rotation rotation);

  /// Source: the pattern of `seed`; destination: poison. All slots, one fill and one poison per arena.
  void arm(std::uint64_t seed) override;
  /// Compares the destination's first `slots_touched` slots (more than there are: all) with what arm(seed)
  /// gave the source. The mismatch names slot, first bad offset, and the source where that is damaged too.
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed,
                                               std::uint64_t slots_touched) const override;
  /// Bytes that verify(..., slots_touched) compares.
  [[nodiscard]] Bytes verified_bytes(std::uint64_t slots_touched) const override;
  /// Flushes both arenas from the CPU caches.
  void flush() override;

  /// The seed by which `slot` alone holds the pattern after arm(seed): what a kernel that writes uses.
  [[nodiscard]] std::uint64_t slot_seed(std::uint64_t seed, std::uint64_t slot) const;

 private:
  [[nodiscard]] Bytes extent() const { return (rotation_.slots - 1) * rotation_.stride + bytes_; }
  [[nodiscard]] std::uint64_t compared_slots(std::uint64_t slots_touched) const;
  [[nodiscard]] Mismatch describe(std::uint64_t seed, std::uint64_t slot, Bytes offset) const;

  Buffer* source_;
  Buffer* destination_;
  Bytes bytes_;
  Rotation rotation_;
};

/// Which end of a flow a process has.
enum class Side { source, destination };

[[nodiscard]] inline Side other(Side side) { return side == Side::source ? Side::destination : Side::source; }

/// The parts of a message between two processes, the sender's first; each end has both buffers where data go both ways.
[[nodiscard]] inline std::vector<FlowPart> message_parts(const Flow& flow, bool both_ways = false,
                                                         Side timed = Side::source) {
  const Endpoint& from = *flow.source;
  const Endpoint& to = *flow.destination;
  const auto timing = [timed](Side side) { return side == timed ? Timing::timed : Timing::untimed; };
  const std::optional<Endpoint> none;
  return {{from.rank, from.device, from, both_ways ? from : none, timing(Side::source)},
          {to.rank, to.device, both_ways ? to : none, to, timing(Side::destination)}};
}

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
