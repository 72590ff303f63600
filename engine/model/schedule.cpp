#include "model/schedule.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace linkscope {
namespace {

/// Checks one phase; `place` begins every complaint.
class PhaseCheck {
 public:
  PhaseCheck(const Schedule& schedule, const Phase& phase, std::string place)
      : schedule_(&schedule), phase_(&phase), place_(std::move(place)) {}

  void run() const {
    if (phase_->halo) check_halo(*phase_->halo);
    if (phase_->termination != Termination::none && !schedule_->particles)
      complain("a termination test without particles");
    for (const ScheduledMessage& message : phase_->messages) check_message(message);
  }

 private:
  void check_halo(const HaloExchange& halo) const {
    if (!schedule_->grid) complain("a halo without a grid");
    const auto fields = static_cast<int>(schedule_->grid->fields.size());
    const bool known = std::all_of(halo.fields.begin(), halo.fields.end(),
                                   [&](int field) { return field >= 0 && field < fields; });
    if (halo.fields.empty() || !known) complain("a halo of a field that the grid has not");
    if (halo.depth < 1 || halo.depth > 2) complain("a halo is one layer deep or two");
  }

  void check_message(const ScheduledMessage& message) const {
    const auto none = [&](int rank) { return rank < 0 || rank >= schedule_->ranks; };
    if (none(message.source) || none(message.destination)) complain("a message of a rank that is none");
    if (message.source == message.destination) complain("a message of a rank to itself");
    if (message.bytes == 0) complain("a message without bytes");
    if (phase_->halo && message.bytes != halo_bytes(*phase_->halo, chunk(message.source)))
      complain("a message of " + std::to_string(message.bytes) + " bytes; its halo has " +
               std::to_string(halo_bytes(*phase_->halo, chunk(message.source))));
    if (!schedule_->particles) return;
    const Bytes most = particle_header_bytes + schedule_->particles->batch * particle_bytes;
    const bool whole = message.bytes > particle_header_bytes &&
                       (message.bytes - particle_header_bytes) % particle_bytes == 0;
    if (!whole || message.bytes > most)
      complain("a message of " + std::to_string(message.bytes) +
               " bytes holds no number of particles from 1 to " +
               std::to_string(schedule_->particles->batch));
  }

  [[nodiscard]] const Chunk& chunk(int rank) const {
    return schedule_->grid->chunks[static_cast<std::size_t>(rank)];
  }

  [[noreturn]] void complain(const std::string& what) const {
    throw Error(Fault::bad_input, place_ + ": " + what);
  }

  const Schedule* schedule_;
  const Phase* phase_;
  std::string place_;
};

void check_grid(const CellGrid& grid, std::size_t ranks) {
  if (grid.chunks.size() != ranks) throw Error(Fault::bad_input, "schedule.grid: a chunk for each rank");
  for (const Chunk& chunk : grid.chunks) {
    const bool inside = chunk.columns > 0 && chunk.rows > 0 && chunk.x + chunk.columns <= grid.columns &&
                        chunk.y + chunk.rows <= grid.rows;
    if (!inside) throw Error(Fault::bad_input, "schedule.grid: a chunk without cells, or outside the grid");
  }
}

}  // namespace

Bytes Schedule::bytes() const {
  Bytes all = 0;
  for (const Loop& loop : loops) {
    for (const Phase& phase : loop.phases) {
      for (const ScheduledMessage& message : phase.messages) all += message.bytes * times(loop, phase);
    }
  }
  return all;
}

void Schedule::check() const {
  const auto count = static_cast<std::size_t>(ranks);
  if (grid) check_grid(*grid, count);
  if (particles && (particles->stock.size() != count || particles->neighbours.size() != count))
    throw Error(Fault::bad_input, "schedule.particles: stock and neighbours of each rank");
  for (std::size_t l = 0; l < loops.size(); ++l) {
    for (std::size_t p = 0; p < loops[l].phases.size(); ++p) {
      PhaseCheck(*this, loops[l].phases[p],
                 "schedule.loops[" + std::to_string(l) + "].phases[" + std::to_string(p) + "]")
          .run();
    }
  }
}

Bytes halo_bytes(const HaloExchange& exchange, const Chunk& chunk) {
  const std::uint64_t along = exchange.axis == GridAxis::x ? chunk.rows : chunk.columns;
  return sizeof(double) * exchange.fields.size() * static_cast<Bytes>(exchange.depth) * (along + halo_guard);
}

}  // namespace linkscope
