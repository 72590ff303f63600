// The passes and rounds of a particle exchange.
#include <algorithm>
#include <numeric>
#include <ranges>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "workload/phase_work.hpp"

namespace linkscope::workload {
namespace {

std::uint64_t particles_in(Bytes bytes) { return (bytes - particle_header_bytes) / particle_bytes; }

class ParticleWork final : public PhaseWork {
 public:
  explicit ParticleWork(RankContext context) : PhaseWork(std::move(context)) {
    for (const Loop& loop : schedule().loops) {
      std::uint64_t due = 0;
      for (const Phase& phase : loop.phases) {
        const RankMessages own = messages_of(phase, context_.rank);
        Pass& pass = passes_.emplace_back();
        pass.phase = &phase;
        pass.ends_cycle = &phase == &loop.phases.back();
        for (const PeerMessage& message : own.sends)
          pass.departures.push_back({message.peer, particles_in(message.bytes)});
        due += own.receives.size();
        pass.messages_due = due;
      }
      std::uint64_t later = 0;
      bool last_round = true;
      const auto of_loop = static_cast<std::ptrdiff_t>(loop.phases.size());
      for (Pass& pass : std::ranges::subrange(passes_.rbegin(), passes_.rbegin() + of_loop)) {
        pass.last_round = last_round;
        last_round = last_round && pass.phase->termination == Termination::none;
        pass.still_to_leave = later;
        for (const Departure& departure : pass.departures) later += departure.count;
      }
    }
  }

  ~ParticleWork() override {
    for (std::byte* const at : under_way_) packer().release(at);
  }

  /// A cycle begins with particles of its own: what the last one left is the application's to compute with. Ranks number
  /// theirs one after another.
  void begin_repeat(PartClock& clock) override {
    const std::vector<std::uint64_t>& stocks = schedule().particles->stock;
    const std::uint64_t first =
        std::accumulate(stocks.begin(), stocks.begin() + context_.rank, std::uint64_t{0});
    const std::uint64_t stock = stocks[static_cast<std::size_t>(context_.rank)];
    packer().make_particles(store(), first, stock, seed_);
    packer().synchronise();
    next_ = 0;
    end_ = round_begin_ = stock;
    messages_ = 0;
    transport().collective({.count = 0}, nullptr);
    clock.lap(WorkPart::uncounted);
    for (const auto& [peer, slot] : slots_.from) transport().receive(peer, 0, slot.bytes);
    clock.lap(WorkPart::send);
  }

  void carry_out(std::size_t phase, PartClock& clock) override {
    const Pass& pass = passes_[phase];
    transport().begin_phase(*pass.phase);
    if (!pass.departures.empty()) {
      clock.lap(WorkPart::collectives);
      packer().fill_queue(next_, pass.departures);
      packer().synchronise();
      clock.lap(WorkPart::uncounted);
      free_sent(clock);
      send(pass, clock);
    }
    take_arrived(clock);
    if (pass.phase->termination == Termination::none) return;
    while (messages_ < pass.messages_due || !transport().sent()) take_arrived(clock);
    clock.lap(WorkPart::wait);
    test_termination(pass, clock);
  }

  void end_repeat(PartClock& clock) override {
    std::int64_t numbers[2] = {static_cast<std::int64_t>(end_), static_cast<std::int64_t>(end_)};
    if (!equal(numbers, Termination::blocking, clock))
      throw Error(Fault::mismatch, "the last termination test says that particles are under way");
    transport().cancel();
    clock.lap(WorkPart::wait);
    free_sent(clock);
  }

  /// After the last phase of a cycle: with all other ranks.
  [[nodiscard]] std::optional<std::string> wrong(std::size_t phase) override {
    if (!passes_[phase].ends_cycle) return std::nullopt;
    std::optional<std::string> own = wrong_at_end();
    transport().collective(
        {.type = NumberType::int32, .reduction = ReduceOp::sum, .count = static_cast<int>(seen_.size())},
        seen_.data());
    if (own) return own;
    for (std::size_t id = 0; id < seen_.size(); ++id) {
      if (seen_[id] == 1) continue;
      return "particle " + std::to_string(id) +
             (seen_[id] == 0 ? " is lost" : " is there " + std::to_string(seen_[id]) + " times");
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::string> wrong_at_end() override {
    const auto& stock = schedule().particles->stock;
    seen_.assign(std::accumulate(stock.begin(), stock.end(), std::uint64_t{0}), 0);
    const auto altered = packer().count_particles(store(), next_, end_, seed_, seen_);
    if (!altered) return std::nullopt;
    return "particle in place " + std::to_string(*altered) + " of rank " + std::to_string(context_.rank) +
           " is not one that was made: it was altered on its way";
  }

  [[nodiscard]] Bytes checked_bytes() const override { return (end_ - next_) * sizeof(Particle); }

 private:
  struct Pass {
    const Phase* phase = nullptr;
    bool ends_cycle = false;
    bool last_round = false;  ///< no phase after it asks whether particles are under way
    std::vector<Departure> departures;
    std::uint64_t messages_due = 0;    ///< received in the cycle up to this pass, it included
    std::uint64_t still_to_leave = 0;  ///< particles, in all passes after this one
  };

  [[nodiscard]] Particle* store() const { return reinterpret_cast<Particle*>(context_.state->data()); }
  [[noreturn]] void complain(const std::string& what) const {
    throw Error(Fault::mismatch, "rank " + std::to_string(context_.rank) + what);
  }

  void send(const Pass& pass, PartClock& clock) {
    for (const Departure& departure : pass.departures) {
      if (next_ + departure.count > end_)
        complain(" has " + std::to_string(end_ - next_) + " particles left and is to send " +
                 std::to_string(departure.count));
      const Bytes bytes = particle_header_bytes + departure.count * particle_bytes;
      std::byte* const to = packer().allocate(bytes);
      under_way_.push_back(to);
      clock.lap(WorkPart::allocate);
      const std::uint64_t queued = packer().pack_particles(store(), departure, to);
      if (queued != departure.count)
        complain(" queued " + std::to_string(queued) + " particles for rank " +
                 std::to_string(departure.peer) + ", not " + std::to_string(departure.count));
      packer().synchronise();
      clock.lap(WorkPart::pack);
      transport().send_from(departure.peer, to, bytes);
      clock.lap(WorkPart::send);
      next_ += departure.count;
    }
  }

  /// A peer that waits to send as well must find its messages taken.
  void free_sent(PartClock& clock) {
    while (!transport().sent()) take_arrived(clock);
    clock.lap(WorkPart::wait);
    for (std::byte* const at : under_way_) packer().release(at);
    under_way_.clear();
    clock.lap(WorkPart::allocate);
  }

  void take_arrived(PartClock& clock) {
    while (const auto arrived = transport().arrived()) {
      clock.lap(WorkPart::wait);
      if (arrived->bytes < particle_header_bytes)
        complain(" got a message of particles from rank " + std::to_string(arrived->peer) + " of " +
                 std::to_string(arrived->bytes) + " bytes");
      const std::uint64_t count = particles_in(arrived->bytes);
      const Bytes room = context_.state->bytes() / sizeof(Particle);
      if (end_ + count > room) complain(" got more particles than it is sent");
      const MessageSlot& slot = slots_.from.at(arrived->peer);
      const std::uint64_t got =
          packer().unpack_particles(store(), end_, context_.messages->data() + slot.offset, count);
      if (got != count)
        complain(" got a message of " + std::to_string(count) + " particles from rank " +
                 std::to_string(arrived->peer) + " that says it has " + std::to_string(got));
      packer().synchronise();
      end_ += got;
      ++messages_;
      transport().unpacked();
      clock.lap(WorkPart::unpack);
      transport().receive(arrived->peer, 0, slot.bytes);
      clock.lap(WorkPart::send);
    }
  }

  /// Gains are the particles that this rank began with or was sent; losses those that have come to rest or left. Over all
  /// ranks the two are equal once a round has brought nothing that is yet to be moved, and nothing is to leave any more.
  void test_termination(const Pass& pass, PartClock& clock) {
    const auto gains = static_cast<std::int64_t>(end_);
    const auto losses = gains - static_cast<std::int64_t>(pass.still_to_leave + (end_ - round_begin_));
    round_begin_ = end_;
    std::int64_t numbers[2] = {gains, losses};
    const bool over = equal(numbers, pass.phase->termination, clock);
    if (over == pass.last_round) return;
    complain(": in " + pass.phase->name +
             (over ? " the termination test says that no particle is under way, and some are"
                   : " the termination test says that particles are under way, and none is"));
  }

  [[nodiscard]] bool equal(std::int64_t* numbers, Termination how, PartClock& clock) {
    const SmallCollective sum{.type = NumberType::int64, .reduction = ReduceOp::sum, .count = 2};
    const std::int64_t own[2] = {numbers[0], numbers[1]};
    if (how == Termination::non_blocking) {
      transport().begin_reduce(numbers, 2);
      while (!transport().reduced()) take_arrived(clock);
      clock.lap(WorkPart::collectives);
      if (numbers[0] != numbers[1]) return false;
      std::copy(own, own + 2, numbers);
    }
    transport().collective(sum, numbers);
    clock.lap(WorkPart::collectives);
    return numbers[0] == numbers[1];
  }

  std::vector<Pass> passes_;       ///< by phase
  std::uint64_t next_ = 0;         ///< of the store: the first particle that has not left
  std::uint64_t end_ = 0;          ///< of the store: after the last one
  std::uint64_t round_begin_ = 0;  ///< end_ when the round began: what came since is moved in the next one
  std::uint64_t messages_ = 0;     ///< received in this cycle
  std::vector<std::byte*> under_way_;
  std::vector<std::int32_t> seen_;
};

}  // namespace

std::unique_ptr<PhaseWork> particle_work(RankContext context) {
  return std::make_unique<ParticleWork>(std::move(context));
}

Bytes particle_state_bytes(const Schedule& schedule, int rank) {
  std::uint64_t most = 0;
  for (const Loop& loop : schedule.loops) {
    std::uint64_t received = 0;
    for (const Phase& phase : loop.phases) {
      for (const PeerMessage& message : messages_of(phase, rank).receives)
        received += particles_in(message.bytes);
    }
    most = std::max(most, received);
  }
  return (schedule.particles->stock[static_cast<std::size_t>(rank)] + most + 1) * sizeof(Particle);
}

}  // namespace linkscope::workload
