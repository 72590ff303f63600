// ParticleWork: the passes and rounds of a particle exchange, as Quicksilver makes them.
#pragma once

#include <map>
#include <vector>

#include "workload/message_slots.hpp"
#include "workload/phase_work.hpp"

namespace linkscope::workload {

/// A repeat of the loop is a cycle: receives are posted from all neighbours; in each pass a kernel queues the particles
/// that leave (not timed: the application computes there), send buffers are freed and allocated again, packed and sent,
/// and what has arrived is unpacked and its receive posted again. The last pass of a round waits until all of the round's
/// messages have arrived, then asks whether particles are under way. At the end one blocking test more; receives are
/// taken back.
class ParticleWork final : public PhaseWork {
 public:
  explicit ParticleWork(const RankContext& context);
  ~ParticleWork() override;
  ParticleWork(const ParticleWork&) = delete;
  ParticleWork& operator=(const ParticleWork&) = delete;

  /// Memory for the particles that `rank` has in one cycle, those that it has handed on included.
  [[nodiscard]] static Bytes state_bytes(const Schedule& schedule, int rank);

  void arm(std::uint64_t seed) override;
  void begin_repeat(const PhasePlace& first, PartClock& clock) override;
  void carry_out(const PhasePlace& place, PartClock& clock) override;
  void end_repeat(const PhasePlace& first, PartClock& clock) override;
  /// Nothing: particles are told apart by their numbers.
  void spoil(const PhasePlace& /*place*/) override {}
  void spoil_all() override {}
  /// After the last phase of a cycle: with all other ranks.
  [[nodiscard]] std::optional<std::string> wrong(const PhasePlace& place) override;
  [[nodiscard]] std::optional<std::string> wrong_at_end() override;
  [[nodiscard]] Bytes checked_bytes() const override;

 private:
  struct Pass {
    std::vector<Departure> departures;
    std::uint64_t messages_due = 0;    ///< received in the cycle up to this pass, it included
    std::uint64_t still_to_leave = 0;  ///< particles, in all passes after this one
  };

  [[nodiscard]] const Phase& phase_at(const PhasePlace& place) const;
  [[nodiscard]] Particle* store() const;
  void free_sent(PartClock& clock);
  void send(const Pass& pass, PartClock& clock);
  void take_arrived(PartClock& clock);
  void await_round(const Pass& pass, PartClock& clock);
  void test_termination(const PhasePlace& place, PartClock& clock);
  [[nodiscard]] bool equal(std::int64_t* numbers, Termination how, PartClock& clock);
  [[nodiscard]] std::uint64_t first_id() const;

  RankContext context_;
  MessageSlots slots_;
  std::vector<std::vector<Pass>> passes_;  ///< by loop and phase
  std::uint64_t seed_ = 0;
  std::uint64_t next_ = 0;         ///< of the store: the first particle that has not left
  std::uint64_t end_ = 0;          ///< of the store: after the last one
  std::uint64_t round_begin_ = 0;  ///< end_ when the round began: what came since is moved in the next one
  std::uint64_t messages_ = 0;     ///< received in this cycle
  std::vector<std::byte*> under_way_;
  std::vector<std::int32_t> seen_;
};

}  // namespace linkscope::workload
