// Small schedules, and ranks that carry them out in one process. For tests.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/host/backend.hpp"
#include "model/schedule.hpp"
#include "open_gpus.hpp"

namespace linkscope::testing {

/// Halos of two fields, one of them on corners, over `across` x `up` chunks; in steps, with the collectives of one.
inline std::shared_ptr<const Schedule> small_halo(int across, int up, std::uint64_t steps) {
  constexpr std::uint64_t columns = 40;
  constexpr std::uint64_t rows = 24;
  auto schedule = std::make_shared<Schedule>();
  schedule->ranks = across * up;
  CellGrid grid;
  grid.columns = columns * static_cast<std::uint64_t>(across);
  grid.rows = rows * static_cast<std::uint64_t>(up);
  grid.fields = {{"density", 0, 0}, {"velocity", 1, 1}};
  for (int y = 0; y < up; ++y) {
    for (int x = 0; x < across; ++x)
      grid.chunks.push_back(
          {columns * static_cast<std::uint64_t>(x), rows * static_cast<std::uint64_t>(y), columns, rows});
  }
  const auto phase = [&](const std::string& name, std::vector<int> fields, int depth, GridAxis axis) {
    Phase made;
    made.name = name;
    made.halo = HaloExchange{std::move(fields), depth, axis};
    const auto both = [&](int a, int b) {
      const Bytes bytes = halo_bytes(*made.halo, grid.chunks[static_cast<std::size_t>(a)]);
      made.messages.push_back({a, b, bytes});
      made.messages.push_back({b, a, bytes});
    };
    for (int y = 0; y < up; ++y) {
      for (int x = 0; x < across; ++x) {
        const int rank = y * across + x;
        if (axis == GridAxis::x && x + 1 < across) both(rank, rank + 1);
        if (axis == GridAxis::y && y + 1 < up) both(rank, rank + across);
      }
    }
    return made;
  };
  Loop loop;
  loop.repeats = steps;
  for (const int depth : {2, 1}) {
    for (const GridAxis axis : {GridAxis::x, GridAxis::y}) {
      Phase made = phase("exchange of depth " + std::to_string(depth), {0, 1}, depth, axis);
      if (!made.messages.empty()) loop.phases.push_back(std::move(made));
    }
  }
  Phase last;
  last.name = "time step";
  last.collectives = {{NumberType::float64, ReduceOp::min, 1}, {NumberType::int32, ReduceOp::max, 1}};
  loop.phases.push_back(std::move(last));
  schedule->loops = {std::move(loop)};
  schedule->grid = std::move(grid);
  schedule->check();
  return schedule;
}

/// Every rank sends some particles to every other one, in two rounds, of which the first has two passes. The last round
/// finds that nothing is under way any more.
inline std::shared_ptr<const Schedule> small_particles(int ranks, std::uint64_t cycles) {
  auto schedule = std::make_shared<Schedule>();
  schedule->ranks = ranks;
  ParticleDeck deck;
  deck.batch = 900;
  for (int rank = 0; rank < ranks; ++rank) {
    deck.stock.push_back(5000 + static_cast<std::uint64_t>(rank));
    std::vector<int>& neighbours = deck.neighbours.emplace_back();
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer != rank) neighbours.push_back(peer);
    }
  }
  Loop loop;
  loop.repeats = cycles;
  const auto round = [&](const std::string& name, std::uint64_t most, Termination termination) {
    Phase phase;
    phase.name = name;
    phase.termination = termination;
    for (int from = 0; from < ranks; ++from) {
      for (int to = 0; to < ranks; ++to) {
        if (from == to || most == 0) continue;
        const std::uint64_t count = most - static_cast<std::uint64_t>(10 * from + to) % most;
        phase.messages.push_back({from, to, particle_header_bytes + count * particle_bytes});
      }
    }
    loop.phases.push_back(std::move(phase));
  };
  round("first pass", 900, Termination::none);
  round("second pass", 100, Termination::blocking);
  round("second round", 7, Termination::non_blocking);
  round("last round", 0, Termination::non_blocking);
  schedule->loops = {std::move(loop)};
  schedule->particles = std::move(deck);
  schedule->check();
  return schedule;
}

/// Messages of odd lengths around a ring, twice of different ones, packed from nothing.
inline std::shared_ptr<const Schedule> ring_pattern(int ranks, std::uint64_t repeats) {
  auto schedule = std::make_shared<Schedule>();
  schedule->ranks = ranks;
  Loop loop;
  loop.repeats = repeats;
  for (const Bytes bytes : {Bytes{100'003}, Bytes{24}}) {
    Phase phase;
    phase.name = std::to_string(bytes) + " bytes";
    for (int from = 0; from < ranks; ++from) {
      phase.messages.push_back({from, (from + 1) % ranks, bytes});
      phase.messages.push_back({from, (from + 1) % ranks, bytes / 3});
    }
    loop.phases.push_back(std::move(phase));
  }
  schedule->loops = {std::move(loop)};
  schedule->check();
  return schedule;
}

/// Ranks of this process with their memory.
struct AssembledRanks {
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<Buffer*> state;  ///< by own rank; null where there is none
  std::unique_ptr<PreparedParts> local_parts;

  [[nodiscard]] std::vector<Lane> lanes(std::uint64_t repeats) const {
    std::vector<Lane> all;
    for (Transfer* rank : local_parts->transfers()) all.push_back({rank, repeats});
    return all;
  }
};

class WithSchedules : public WithGpus {
 protected:
  [[nodiscard]] int gpus() const { return static_cast<int>(backend_->devices.size()); }
  /// Rank r on GPU r mod `devices`, in process r mod `processes`; its messages in `memory`.
  [[nodiscard]] static Flow flow(const std::string& method, std::shared_ptr<const Schedule> schedule,
                                 int devices, const std::string& memory = "device", int processes = 1) {
    Flow flow;
    flow.method = method;
    for (int rank = 0; rank < schedule->ranks; ++rank) {
      const bool on_host = memory == "pinned" || memory == "registered";
      const DeviceId gpu{DeviceKind::gpu, rank % devices};
      const DeviceId node{DeviceKind::numa, 0};
      flow.members.push_back(endpoint(on_host ? node : gpu, memory, rank % processes));
      if (schedule->grid || schedule->particles)
        flow.state.push_back(endpoint(gpu, "device", rank % processes));
    }
    flow.executor = flow.members.front().device;
    flow.bytes = schedule->bytes();
    flow.schedule = std::move(schedule);
    return flow;
  }
  /// Process `process`'s ranks, not yet connected. Throws Error{unsupported} where the method refuses.
  [[nodiscard]] AssembledRanks assemble(const Flow& flow, int process) const {
    const Method& wanted = method(flow.method);
    if (const Support support = wanted.supports(flow); !support)
      throw Error(Fault::unsupported, support.reason());
    AssembledRanks ranks;
    std::vector<LocalPart> own;
    const auto arena = [&](const std::optional<Endpoint>& end, Bytes bytes) -> Buffer* {
      if (!end || bytes == 0) return nullptr;
      ranks.buffers.push_back(memory(end->memory).allocate(*end, bytes));
      return ranks.buffers.back().get();
    };
    const std::vector<FlowPart> parts = wanted.parts(flow);
    for (std::size_t index = 0; index < parts.size(); ++index) {
      const FlowPart& part = parts[index];
      if (part.rank != process) continue;
      Buffer* const state = arena(part.source, part.source_bytes);
      own.push_back({index, {state, arena(part.destination, part.destination_bytes), {0, 1}}});
      ranks.state.push_back(state);
    }
    ranks.local_parts = wanted.assemble(flow, own);
    return ranks;
  }
  /// All ranks, in this process.
  [[nodiscard]] AssembledRanks assemble(const Flow& flow) const {
    AssembledRanks ranks = assemble(flow, 0);
    ranks.local_parts->import_handles({ranks.local_parts->export_handles()});
    return ranks;
  }
  void arm(const AssembledRanks& ranks, std::uint64_t seed) const {
    for (Transfer* rank : ranks.local_parts->transfers()) rank->arm(seed);
  }
  void run(const AssembledRanks& ranks, std::uint64_t repeats) {
    static_cast<void>(host_gate_.run(ranks.lanes(repeats), Clock::host));
  }
  /// What is wrong, empty where nothing is.
  [[nodiscard]] static std::string fault(const AssembledRanks& ranks, std::uint64_t seed) {
    for (const Transfer* rank : ranks.local_parts->transfers()) {
      if (const auto mismatch = rank->verify(seed)) return mismatch->what;
    }
    return {};
  }
  /// Two starts, of one transfer and of `repeats`; what is wrong after them.
  [[nodiscard]] std::string round(const AssembledRanks& ranks, std::uint64_t repeats, std::uint64_t seed) {
    arm(ranks, seed);
    run(ranks, 1);
    run(ranks, repeats);
    return fault(ranks, seed);
  }

 private:
  std::unique_ptr<Gate> own_gate_ = host::host_gate(host_);
  Gate& host_gate_ = *own_gate_;
};

}  // namespace linkscope::testing
