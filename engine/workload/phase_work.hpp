// PhaseWork: what one rank does in the phases of a schedule, beside the collectives between them, and where its time goes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/steady_clock.hpp"
#include "base/units.hpp"
#include "model/buffer.hpp"
#include "model/packer.hpp"
#include "model/schedule.hpp"
#include "model/transport.hpp"
#include "workload/message_slots.hpp"

namespace linkscope::workload {

/// uncounted: what the application computes, and what linkscope itself fills and checks.
enum class WorkPart { allocate, pack, copy, send, wait, unpack, collectives, synchronise, uncounted };
inline constexpr std::array work_part_names{"allocate", "pack",        "copy",        "send",     "wait",
                                            "unpack",   "collectives", "synchronise", "uncounted"};
inline constexpr std::size_t work_parts = work_part_names.size();

/// Divides a rank's time: one stamp ends a part and begins the next, so that all parts together are all of the time.
class PartClock {
 public:
  void restart() {
    seconds_.fill(0);
    last_ = steady_seconds();
  }
  /// All time since the last stamp was `part`.
  void lap(WorkPart part) {
    const Seconds now = steady_seconds();
    seconds_[static_cast<std::size_t>(part)] += now - last_;
    last_ = now;
  }
  /// Divides the time since the last stamp: `copied` of it were copies, the rest was `part`.
  void lap(WorkPart part, Seconds copied) {
    lap(part);
    seconds_[static_cast<std::size_t>(part)] -= copied;
    seconds_[static_cast<std::size_t>(WorkPart::copy)] += copied;
  }
  /// Returns the time so far that counts.
  [[nodiscard]] Seconds counted() const {
    Seconds sum = 0;
    for (std::size_t part = 0; part < static_cast<std::size_t>(WorkPart::uncounted); ++part)
      sum += seconds_[part];
    return sum;
  }
  [[nodiscard]] const std::array<Seconds, work_parts>& seconds() const { return seconds_; }

 private:
  std::array<Seconds, work_parts> seconds_{};
  Seconds last_ = 0;
};

/// All that a rank works with; packer and transport are its own. `state`: null where messages are all there is.
struct RankContext {
  std::shared_ptr<const Schedule> schedule;
  int rank = 0;
  Buffer* state = nullptr;
  Buffer* messages = nullptr;
  std::unique_ptr<Packer> packer = nullptr;
  std::unique_ptr<Transport> transport = nullptr;  ///< goes before the packer, which it may use
};

/// Calls are made by the rank's thread; each throws what packer and transport throw. `phase` counts those of all loops.
class PhaseWork {
 public:
  explicit PhaseWork(RankContext context)
      : context_(std::move(context)), slots_(*context_.schedule, context_.rank) {}
  virtual ~PhaseWork() = default;
  PhaseWork(const PhaseWork&) = delete;
  PhaseWork& operator=(const PhaseWork&) = delete;

  /// Lays out the state from which messages are packed, with data of `seed`. Alone: no other rank need be there.
  virtual void arm(std::uint64_t seed) { seed_ = seed; }
  /// Is called before the first phase of a repeat of a loop.
  virtual void begin_repeat(PartClock& /*clock*/) {}
  /// Sends and receives the messages of a phase.
  virtual void carry_out(std::size_t phase, PartClock& clock) = 0;
  /// Is called after the last phase of a repeat.
  virtual void end_repeat(PartClock& /*clock*/) {}

  /// Lays out data of `seed` for the checked phases that follow. Never timed, as all calls below.
  void use(std::uint64_t seed) { seed_ = seed; }
  /// Makes a phase's messages seen if they arrive, before it is carried out to be checked: what this rank sends in it gets
  /// the data in use, and where its messages arrive, poison.
  virtual void renew(std::size_t /*phase*/) {}
  /// Poisons the places where messages of the timed phases arrive.
  virtual void spoil_all() {}
  /// Says which of the phase's messages is not what was sent, by its first wrong cell, byte or particle.
  [[nodiscard]] virtual std::optional<std::string> wrong(std::size_t phase) = 0;
  /// Says so of all messages since arm(), as far as they are still there.
  [[nodiscard]] virtual std::optional<std::string> wrong_at_end() = 0;
  [[nodiscard]] virtual Bytes checked_bytes() const = 0;

 protected:
  [[nodiscard]] const Schedule& schedule() const { return *context_.schedule; }
  [[nodiscard]] Packer& packer() const { return *context_.packer; }
  [[nodiscard]] Transport& transport() const { return *context_.transport; }

  RankContext context_;
  MessageSlots slots_;
  std::uint64_t seed_ = 0;
};

/// A halo exchange as CloverLeaf makes it: for each neighbour along the axis it packs, synchronises the device, begins to
/// send and to receive; then it waits for all, unpacks, and synchronises. Without a halo, messages are packed from nothing,
/// and all receives are posted first. Where the device keeps the order (MessageOrder::device), it is synchronised once,
/// when the exchange along both axes is enqueued.
[[nodiscard]] std::unique_ptr<PhaseWork> message_work(RankContext context);

/// A particle exchange as Quicksilver makes it. A repeat of the loop is a cycle: receives are posted from all neighbours;
/// in each pass a kernel queues the particles that leave (not timed: the application computes there), send buffers are
/// freed and allocated again, packed and sent, and what has arrived is unpacked and its receive posted again. The last
/// pass of a round waits until all of the round's messages have arrived, then asks whether particles are under way. At the
/// end there is one blocking test more, and receives are taken back.
[[nodiscard]] std::unique_ptr<PhaseWork> particle_work(RankContext context);
/// Returns the memory for the particles that `rank` has in one cycle, those that it has handed on included.
[[nodiscard]] Bytes particle_state_bytes(const Schedule& schedule, int rank);

}  // namespace linkscope::workload
