#include "workload/particle_work.hpp"

#include <numeric>
#include <ranges>

#include "base/error.hpp"

namespace linkscope::workload {
namespace {

std::uint64_t particles_in(Bytes bytes) { return (bytes - particle_header_bytes) / particle_bytes; }

}  // namespace

ParticleWork::ParticleWork(const RankContext& context)
    : context_(context), slots_(*context.schedule, context.rank) {
  for (const Loop& loop : context_.schedule->loops) {
    std::vector<Pass>& passes = passes_.emplace_back();
    std::uint64_t due = 0;
    for (const Phase& phase : loop.phases) {
      const RankMessages own = messages_of(phase, context_.rank);
      Pass& pass = passes.emplace_back();
      for (const PeerMessage& message : own.sends)
        pass.departures.push_back({message.peer, particles_in(message.bytes)});
      due += own.receives.size();
      pass.messages_due = due;
    }
    std::uint64_t later = 0;
    for (Pass& pass : std::views::reverse(passes)) {
      pass.still_to_leave = later;
      for (const Departure& departure : pass.departures) later += departure.count;
    }
  }
}

ParticleWork::~ParticleWork() {
  for (std::byte* const at : under_way_) context_.packer->release(at);
}

Bytes ParticleWork::state_bytes(const Schedule& schedule, int rank) {
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

void ParticleWork::arm(std::uint64_t seed) { seed_ = seed; }

/// A cycle begins with particles of its own: what the last one left is the application's to compute with.
void ParticleWork::begin_repeat(const PhasePlace& /*first*/, PartClock& clock) {
  const std::uint64_t stock = context_.schedule->particles->stock[static_cast<std::size_t>(context_.rank)];
  context_.packer->make_particles(store(), first_id(), stock, seed_);
  context_.packer->synchronise();
  next_ = 0;
  end_ = round_begin_ = stock;
  messages_ = 0;
  context_.transport->collective({.count = 0}, nullptr);
  clock.lap(WorkPart::uncounted);
  for (const auto& [peer, slot] : slots_.from()) context_.transport->receive(peer, 0, slot.bytes);
  clock.lap(WorkPart::send);
}

void ParticleWork::carry_out(const PhasePlace& place, PartClock& clock) {
  context_.transport->begin_phase(place.loop, place.phase);
  const Pass& pass = passes_[place.loop][place.phase];
  const Termination termination = phase_at(place).termination;
  if (!pass.departures.empty()) {
    clock.lap(WorkPart::collectives);
    context_.packer->fill_queue(next_, pass.departures);
    context_.packer->synchronise();
    clock.lap(WorkPart::uncounted);
    free_sent(clock);
    send(pass, clock);
  }
  take_arrived(clock);
  if (termination == Termination::none) return;
  await_round(pass, clock);
  test_termination(place, clock);
}

void ParticleWork::send(const Pass& pass, PartClock& clock) {
  for (const Departure& departure : pass.departures) {
    if (next_ + departure.count > end_)
      throw Error(Fault::mismatch, "rank " + std::to_string(context_.rank) + " has " +
                                       std::to_string(end_ - next_) + " particles left and is to send " +
                                       std::to_string(departure.count));
    const Bytes bytes = particle_header_bytes + departure.count * particle_bytes;
    std::byte* const to = context_.packer->allocate(bytes);
    under_way_.push_back(to);
    clock.lap(WorkPart::allocate);
    const std::uint64_t queued = context_.packer->queued(departure.peer);
    if (queued != departure.count)
      throw Error(Fault::mismatch, "rank " + std::to_string(context_.rank) + " queued " +
                                       std::to_string(queued) + " particles for rank " +
                                       std::to_string(departure.peer) + ", not " +
                                       std::to_string(departure.count));
    context_.packer->pack_particles(store(), departure.peer, to);
    context_.packer->synchronise();
    clock.lap(WorkPart::pack);
    context_.transport->send_from(departure.peer, to, bytes);
    clock.lap(WorkPart::send);
    next_ += departure.count;
  }
}

/// A peer that waits to send as well must find its messages taken.
void ParticleWork::free_sent(PartClock& clock) {
  while (!context_.transport->sent()) take_arrived(clock);
  clock.lap(WorkPart::wait);
  for (std::byte* const at : under_way_) context_.packer->release(at);
  under_way_.clear();
  clock.lap(WorkPart::allocate);
}

void ParticleWork::take_arrived(PartClock& clock) {
  while (const auto arrived = context_.transport->arrived()) {
    clock.lap(WorkPart::wait);
    if (arrived->bytes < particle_header_bytes)
      throw Error(Fault::mismatch, "a message of particles from rank " + std::to_string(arrived->peer) +
                                       " has " + std::to_string(arrived->bytes) + " bytes");
    const std::uint64_t count = particles_in(arrived->bytes);
    const Bytes room = context_.state->bytes() / sizeof(Particle);
    if (end_ + count > room)
      throw Error(Fault::mismatch,
                  "rank " + std::to_string(context_.rank) + " got more particles than it is sent");
    const std::uint64_t got = context_.packer->unpack_particles(
        store(), end_, context_.transport->incoming(arrived->peer, 0), count);
    if (got != count)
      throw Error(Fault::mismatch, "a message of " + std::to_string(count) + " particles from rank " +
                                       std::to_string(arrived->peer) + " says that it has " +
                                       std::to_string(got));
    context_.packer->synchronise();
    end_ += got;
    ++messages_;
    context_.transport->unpacked();
    clock.lap(WorkPart::unpack);
    context_.transport->receive(arrived->peer, 0, slots_.from().at(arrived->peer).bytes);
    clock.lap(WorkPart::send);
  }
}

void ParticleWork::await_round(const Pass& pass, PartClock& clock) {
  while (messages_ < pass.messages_due || !context_.transport->sent()) take_arrived(clock);
  clock.lap(WorkPart::wait);
}

/// Of this rank: what it began with and was sent, and what has come to rest or left. Over all ranks the two are equal once
/// a round has brought nothing that is yet to be moved, and nothing is to leave any more.
void ParticleWork::test_termination(const PhasePlace& place, PartClock& clock) {
  const Pass& pass = passes_[place.loop][place.phase];
  const auto gains = static_cast<std::int64_t>(end_);
  const auto losses = gains - static_cast<std::int64_t>(pass.still_to_leave + (end_ - round_begin_));
  round_begin_ = end_;
  std::int64_t numbers[2] = {gains, losses};
  const bool over = equal(numbers, phase_at(place).termination, clock);
  const std::vector<Phase>& phases = context_.schedule->loops[place.loop].phases;
  bool last = true;
  for (std::size_t i = place.phase + 1; i < phases.size(); ++i)
    last = last && phases[i].termination == Termination::none;
  if (over == last) return;
  throw Error(Fault::mismatch,
              "rank " + std::to_string(context_.rank) + ": in " + phase_at(place).name +
                  (over ? " the termination test says that no particle is under way, and some are"
                        : " the termination test says that particles are under way, and none is"));
}

bool ParticleWork::equal(std::int64_t* numbers, Termination how, PartClock& clock) {
  Transport& transport = *context_.transport;
  const SmallCollective sum{.type = NumberType::int64, .reduction = ReduceOp::sum, .count = 2};
  const std::int64_t own[2] = {numbers[0], numbers[1]};
  if (how == Termination::non_blocking) {
    transport.begin_reduce(numbers, 2);
    while (!transport.reduced()) take_arrived(clock);
    clock.lap(WorkPart::collectives);
    if (numbers[0] != numbers[1]) return false;
    std::copy(own, own + 2, numbers);
  }
  transport.collective(sum, numbers);
  clock.lap(WorkPart::collectives);
  return numbers[0] == numbers[1];
}

void ParticleWork::end_repeat(const PhasePlace& /*first*/, PartClock& clock) {
  std::int64_t numbers[2] = {static_cast<std::int64_t>(end_), static_cast<std::int64_t>(end_)};
  if (!equal(numbers, Termination::blocking, clock))
    throw Error(Fault::mismatch, "the last termination test says that particles are under way");
  context_.transport->cancel();
  clock.lap(WorkPart::wait);
  free_sent(clock);
}

std::optional<std::string> ParticleWork::wrong(const PhasePlace& place) {
  const std::vector<Phase>& phases = context_.schedule->loops[place.loop].phases;
  if (place.phase + 1 < phases.size()) return std::nullopt;
  std::optional<std::string> own = wrong_at_end();
  context_.transport->collective(
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

std::optional<std::string> ParticleWork::wrong_at_end() {
  const auto& stock = context_.schedule->particles->stock;
  seen_.assign(std::accumulate(stock.begin(), stock.end(), std::uint64_t{0}), 0);
  const auto altered = context_.packer->count_particles(store(), next_, end_, seed_, seen_);
  if (!altered) return std::nullopt;
  return "particle in place " + std::to_string(*altered) + " of rank " + std::to_string(context_.rank) +
         " is not one that was made: it was altered on its way";
}

Bytes ParticleWork::checked_bytes() const { return (end_ - next_) * sizeof(Particle); }

const Phase& ParticleWork::phase_at(const PhasePlace& place) const {
  return context_.schedule->loops[place.loop].phases[place.phase];
}

Particle* ParticleWork::store() const { return reinterpret_cast<Particle*>(context_.state->data()); }

std::uint64_t ParticleWork::first_id() const {
  const auto& stock = context_.schedule->particles->stock;
  return std::accumulate(stock.begin(), stock.begin() + context_.rank, std::uint64_t{0});
}

}  // namespace linkscope::workload
