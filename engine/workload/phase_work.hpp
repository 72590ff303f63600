// PhaseWork: what one rank does in the phases of a schedule, beside the collectives between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/units.hpp"
#include "model/buffer.hpp"
#include "model/packer.hpp"
#include "model/schedule.hpp"
#include "model/transport.hpp"
#include "workload/part_clock.hpp"

namespace linkscope::workload {

/// All that a rank works with; outlives its work. `state`: null where messages are all there is.
struct RankContext {
  const Schedule* schedule = nullptr;
  int rank = 0;
  Packer* packer = nullptr;
  Transport* transport = nullptr;
  Buffer* state = nullptr;
  Buffer* messages = nullptr;
};

/// A phase, and the loop that it is of.
struct PhasePlace {
  std::size_t loop = 0;
  std::size_t phase = 0;
};

/// Calls are made by the rank's thread; each throws what packer and transport throw.
class PhaseWork {
 public:
  virtual ~PhaseWork() = default;

  /// Fills what is sent, and where it arrives with what will. Alone: no other rank need be there.
  virtual void arm(std::uint64_t seed) = 0;
  /// Before the first phase of a repeat of a loop.
  virtual void begin_repeat(const PhasePlace& /*first*/, PartClock& /*clock*/) {}
  /// The messages of a phase.
  virtual void carry_out(const PhasePlace& place, PartClock& clock) = 0;
  /// After the last phase of a repeat.
  virtual void end_repeat(const PhasePlace& /*first*/, PartClock& /*clock*/) {}

  /// Makes the phase's messages seen if they arrive, before it is carried out to be checked. Never timed.
  virtual void spoil(const PhasePlace& place) = 0;
  /// The same of all phases, before those that are timed.
  virtual void spoil_all() = 0;
  /// What of the phase's messages is not what was sent; names the first cell, byte or particle.
  [[nodiscard]] virtual std::optional<std::string> wrong(const PhasePlace& place) = 0;
  /// The same of all that arrived since arm(), as far as it is still there.
  [[nodiscard]] virtual std::optional<std::string> wrong_at_end() = 0;
  [[nodiscard]] virtual Bytes checked_bytes() const = 0;
};

}  // namespace linkscope::workload
