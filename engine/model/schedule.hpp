// Schedule: what the ranks of an application send one another, phase by phase, and what they pack it from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace linkscope {

/// `bytes` from rank `source` to rank `destination`.
struct ScheduledMessage {
  int source = 0;
  int destination = 0;
  Bytes bytes = 0;
};

enum class GridAxis { x, y };

/// A phase with one has messages that carry the outermost `depth` layers of `fields` (of CellGrid::fields) across the sides
/// between chunks that are neighbours along `axis`.
struct HaloExchange {
  std::vector<int> fields;
  int depth = 1;
  GridAxis axis = GridAxis::x;
};

enum class NumberType { int32, int64, float64 };
inline constexpr std::size_t number_types = 3;
constexpr Bytes bytes_of(NumberType type) {
  return type == NumberType::int32 ? sizeof(std::int32_t) : sizeof(std::int64_t);
}
enum class ReduceOp { sum, min, max };

/// A collective over all ranks, of host memory, as applications make them between messages: an all-reduce of `count`
/// numbers, or with none a barrier.
struct SmallCollective {
  NumberType type = NumberType::float64;
  ReduceOp reduction = ReduceOp::sum;
  int count = 0;
  [[nodiscard]] Bytes bytes() const { return static_cast<Bytes>(count) * bytes_of(type); }
};

/// How the ranks of a particle exchange find out that no particle is under way: an all-reduce (sum) of two int64, gains
/// and losses, which are equal then. non_blocking: the same begun and asked for, and a blocking one when it says so.
enum class Termination { none, blocking, non_blocking };

/// Messages that are under way at the same time; then its collectives. The next phase begins when all have arrived.
struct Phase {
  std::string name;
  std::uint64_t every = 1;  ///< takes place in repeats `every`, 2 * `every`, ... of its loop
  Seconds gap_s = 0;        ///< that the application computed before it; not communication
  // NOLINTBEGIN(readability-redundant-member-init): lets initialisers leave them out
  std::vector<ScheduledMessage> messages{};
  std::optional<HaloExchange> halo{};           ///< of a schedule with a grid
  Termination termination = Termination::none;  ///< of a schedule with particles: ends a round
  std::vector<SmallCollective> collectives{};
  // NOLINTEND(readability-redundant-member-init)
};

/// Phases one after another, `repeats` times.
struct Loop {
  std::uint64_t repeats = 1;
  std::vector<Phase> phases;
};

/// A field of float64 on the grid: on its cells, or on their corners or sides, of which there is one more.
struct GridField {
  std::string name;
  int extra_x = 0;
  int extra_y = 0;
};

/// A rank's share of the grid's cells.
struct Chunk {
  std::uint64_t x = 0;
  std::uint64_t y = 0;
  std::uint64_t columns = 0;
  std::uint64_t rows = 0;
};

/// A 2-D grid of cells, decomposed into a chunk for each rank.
struct CellGrid {
  std::uint64_t columns = 0;
  std::uint64_t rows = 0;
  std::vector<GridField> fields;
  std::vector<Chunk> chunks;  ///< by rank
};

/// Particles that ranks hand on: by rank how many it begins with, and the ranks from which it expects some, those that
/// send none included. A message of n particles has 8 + 136 n bytes; no message has more than `batch`.
struct ParticleDeck {
  std::vector<std::uint64_t> stock;
  std::vector<std::vector<int>> neighbours;
  std::uint64_t batch = 0;
};

/// Loops one after another. With a grid, messages are packed from its fields and unpacked into them; with particles,
/// from those that the rank holds. Else a message is what its buffer holds.
struct Schedule {
  int ranks = 0;
  std::vector<Loop> loops;
  std::optional<CellGrid> grid;
  std::optional<ParticleDeck> particles;

  /// Sums all messages of the whole schedule.
  [[nodiscard]] Bytes bytes() const;
  /// Says how often `phase` takes place in `loop`.
  [[nodiscard]] static std::uint64_t times(const Loop& loop, const Phase& phase) {
    return loop.repeats / phase.every;
  }
  /// Throws Error{bad_input}, one line that names loop and phase: a rank that is none, a message of a rank to itself, a
  /// message whose bytes are not those of its halo or of whole particles, a halo without a grid, a chunk that is none.
  void check() const;
};

inline constexpr Bytes particle_header_bytes = 8;
inline constexpr Bytes particle_bytes = 136;
/// More values in a row of the halo than cells: two halo layers at either side, and one for values on cells' corners.
inline constexpr std::uint64_t halo_guard = 5;

/// Bytes of a message of these halo layers from one chunk to a neighbour that has as many cells along the shared side.
[[nodiscard]] Bytes halo_bytes(const HaloExchange& exchange, const Chunk& chunk);

}  // namespace linkscope
