#include "model/schedule.hpp"

#include <algorithm>
#include <limits>
#include <ranges>

#include "base/error.hpp"

namespace linkscope {
namespace {

// A plan is read from a file: below these limits no sum or product of sizes is larger than 64 bits hold.
constexpr Bytes largest_state = Bytes{1} << 50U;
constexpr Bytes largest_schedule = Bytes{1} << 62U;
constexpr std::uint64_t largest_count = std::numeric_limits<std::int32_t>::max();
constexpr int largest_collective = 1 << 24;

/// Checks one phase; `place` begins every complaint.
void check_phase(const Schedule& schedule, const Phase& phase, const std::string& place) {
  const auto complain = [&](const std::string& what) { throw Error(Fault::bad_input, place + ": " + what); };
  if (phase.halo) {
    const HaloExchange& halo = *phase.halo;
    if (!schedule.grid) complain("a halo without a grid");
    const auto fields = static_cast<int>(schedule.grid->fields.size());
    const bool known = std::all_of(halo.fields.begin(), halo.fields.end(),
                                   [&](int field) { return field >= 0 && field < fields; });
    if (halo.fields.empty() || !known) complain("a halo of a field that the grid has not");
    if (halo.depth < 1 || halo.depth > 2) complain("a halo is one layer deep or two");
  }
  if (phase.termination != Termination::none && !schedule.particles)
    complain("a termination test without particles");
  if (schedule.particles && phase.every != 1) complain("particles are sent in each repeat");
  if (schedule.grid && !phase.halo && !phase.messages.empty())
    complain("messages without a halo in a schedule with a grid");
  for (const SmallCollective& one : phase.collectives) {
    if (one.count > largest_collective) complain("a collective of too many numbers");
  }
  for (const auto& [source, destination, bytes] : phase.messages) {
    for (const int rank : {source, destination}) {
      if (rank < 0 || rank >= schedule.ranks) complain("a message of a rank that is none");
    }
    if (source == destination) complain("a message of a rank to itself");
    if (bytes == 0) complain("a message without bytes");
    const std::string size = "a message of " + std::to_string(bytes) + " bytes";
    for (const int rank : {source, destination}) {
      if (!phase.halo) break;
      const Bytes due = halo_bytes(*phase.halo, schedule.grid->chunks[static_cast<std::size_t>(rank)]);
      if (bytes != due)
        complain(size + "; the halo of rank " + std::to_string(rank) + " has " + std::to_string(due));
    }
    if (!schedule.particles) continue;
    const std::vector<int>& expected = schedule.particles->neighbours[static_cast<std::size_t>(destination)];
    if (std::find(expected.begin(), expected.end(), source) == expected.end())
      complain("a message of a rank that is no neighbour of the one it goes to");
    const Bytes most = particle_header_bytes + schedule.particles->batch * particle_bytes;
    const bool whole = bytes > particle_header_bytes && (bytes - particle_header_bytes) % particle_bytes == 0;
    if (!whole || bytes > most)
      complain(size + " holds no number of particles from 1 to " + std::to_string(schedule.particles->batch));
  }
}

bool is_within(std::uint64_t first, std::uint64_t count, std::uint64_t all) {
  return count > 0 && count <= all && first <= all - count;
}

void check_grid(const CellGrid& grid, std::size_t ranks) {
  if (grid.chunks.size() != ranks) throw Error(Fault::bad_input, "schedule.grid: a chunk for each rank");
  if (grid.fields.empty()) throw Error(Fault::bad_input, "schedule.grid: has no fields");
  const std::uint64_t words = largest_state / sizeof(double) / grid.fields.size();
  for (const Chunk& chunk : grid.chunks) {
    if (!is_within(chunk.x, chunk.columns, grid.columns) || !is_within(chunk.y, chunk.rows, grid.rows))
      throw Error(Fault::bad_input, "schedule.grid: a chunk without cells, or outside the grid");
    const bool small = chunk.columns <= words - halo_guard &&
                       chunk.rows + halo_guard <= words / (chunk.columns + halo_guard);
    if (chunk.rows > words || !small)
      throw Error(Fault::bad_input, "schedule.grid: a chunk of too many cells");
  }
}

void check_particles(const ParticleDeck& deck, std::size_t ranks) {
  if (deck.stock.size() != ranks || deck.neighbours.size() != ranks)
    throw Error(Fault::bad_input, "schedule.particles: stock and neighbours of each rank");
  if (deck.batch == 0 || deck.batch > largest_count / particle_bytes)
    throw Error(Fault::bad_input, "schedule.particles: a message of too many particles");
  std::uint64_t left = largest_count;
  for (const std::uint64_t stock : deck.stock) {
    if (stock > left)
      throw Error(Fault::bad_input,
                  "schedule.particles: more than " + std::to_string(largest_count) + " particles");
    left -= stock;
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (const int neighbour : deck.neighbours[rank]) {
      const auto one = static_cast<std::size_t>(neighbour);
      if (neighbour < 0 || one >= ranks || one == rank)
        throw Error(Fault::bad_input, "schedule.particles: rank " + std::to_string(rank) +
                                          " has a neighbour that is no other rank");
    }
  }
}

/// Receives are posted until the last termination test of a repeat: what is sent after it nobody takes.
void check_rounds(const Loop& loop, const std::string& place) {
  for (const Phase& phase : std::views::reverse(loop.phases)) {
    if (phase.termination != Termination::none) return;
    if (!phase.messages.empty())
      throw Error(Fault::bad_input, place + ": particles are sent after the last termination test");
  }
}

void check_sum(const Schedule& schedule) {
  Bytes left = largest_schedule;
  for (const Loop& loop : schedule.loops) {
    for (const Phase& phase : loop.phases) {
      const std::uint64_t times = Schedule::times(loop, phase);
      for (const ScheduledMessage& message : phase.messages) {
        if (times > left / message.bytes)
          throw Error(Fault::bad_input, "schedule: its messages have too many bytes in all");
        left -= times * message.bytes;
      }
    }
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
  if (grid && particles) throw Error(Fault::bad_input, "schedule: has a grid or particles, not both");
  if (grid) check_grid(*grid, count);
  if (particles) check_particles(*particles, count);
  for (std::size_t l = 0; l < loops.size(); ++l) {
    if (particles) check_rounds(loops[l], "schedule.loops[" + std::to_string(l) + "]");
    for (std::size_t p = 0; p < loops[l].phases.size(); ++p) {
      check_phase(*this, loops[l].phases[p],
                  "schedule.loops[" + std::to_string(l) + "].phases[" + std::to_string(p) + "]");
    }
  }
  check_sum(*this);
}

Bytes halo_bytes(const HaloExchange& exchange, const Chunk& chunk) {
  const std::uint64_t along = exchange.axis == GridAxis::x ? chunk.rows : chunk.columns;
  return sizeof(double) * exchange.fields.size() * static_cast<Bytes>(exchange.depth) * (along + halo_guard);
}

}  // namespace linkscope
