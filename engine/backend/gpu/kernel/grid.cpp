// Reading grids from plans and settings.
#include "backend/gpu/kernel/grid.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

constexpr unsigned bulk_warp = 32;

unsigned checked(const GridNumber& wanted, std::int64_t value) {
  const Parameter& parameter = wanted.parameter;
  std::string objection = parameter.objection(std::to_string(value));
  if (objection.empty() && value % wanted.unit != 0)
    objection = std::to_string(value) + " is no multiple of " + std::to_string(wanted.unit);
  if (objection.empty()) return static_cast<unsigned>(value);
  throw Error(Fault::bad_input, "parameter " + std::string(parameter.name) + ": " + objection);
}

void require_sweep(const Grid& grid) {
  const unsigned depth = grid.depth;
  if (depth != 1 && depth != 4 && depth != 8 && depth != 12)
    throw Error(Fault::bad_input, "parameter unroll: 1, 4, 8 or 12");
  if (grid.threads <= most_threads(depth)) return;
  throw Error(Fault::bad_input, "parameter threads: up to " + std::to_string(most_threads(depth)) +
                                    " with unroll " + std::to_string(depth));
}

void require_bulk(const Grid& grid, Bytes shared_bytes) {
  if (grid.depth != 2 && grid.depth != 4 && grid.depth != 8 && grid.depth != 16)
    throw Error(Fault::bad_input, "parameter stages: 2, 4, 8 or 16");
  if (bulk_shared_bytes(grid) <= shared_bytes) return;
  throw Error(Fault::unsupported, "stages of " + std::to_string(grid.piece) + " B for " +
                                      std::to_string(grid.threads) + " threads need " +
                                      format_bytes(bulk_shared_bytes(grid)) +
                                      " of shared memory, a block has " + format_bytes(shared_bytes));
}

/// With pieces so short, and blocks so few, that every warp has one, and no piece longer than a row.
Grid fitted(Grid grid, Bytes bytes, Bytes row) {
  constexpr unsigned shortest_piece = 1024;  // below that the copy unit's own rate is the bound
  const unsigned warps = grid.threads / bulk_warp;
  const auto pieces = [&] { return std::max<Bytes>((bytes + grid.piece - 1) / grid.piece, 1); };
  grid.piece =
      static_cast<unsigned>(std::clamp<Bytes>(round_up(row, vector_bytes), vector_bytes, grid.piece));
  while (pieces() < static_cast<Bytes>(grid.blocks) * warps && grid.piece > shortest_piece)
    grid.piece = static_cast<unsigned>(round_up(grid.piece / 2, vector_bytes));
  grid.blocks = static_cast<unsigned>(std::min<Bytes>(grid.blocks, (pieces() + warps - 1) / warps));
  return grid;
}

}  // namespace

std::vector<Parameter> parameters_of(GridNumbers numbers, std::initializer_list<Parameter> others) {
  std::vector<Parameter> all;
  for (const GridNumber& one : numbers) all.push_back(one.parameter);
  all.insert(all.end(), others);
  return all;
}

std::optional<Grid> fixed_grid(GridNumbers numbers, const Grid& first, const Parameters& parameters) {
  Grid grid = first;
  bool named = false;
  for (const GridNumber& one : numbers) {
    const auto given = parameters.given_number(one.parameter);
    if (!given) continue;
    named = true;
    grid.*one.number = checked(one, *given);
  }
  return named ? std::optional<Grid>(grid) : std::nullopt;
}

void add_unlike(std::vector<Grid>& grids, const Grid& grid) {
  if (std::find(grids.begin(), grids.end(), grid) == grids.end()) grids.push_back(grid);
}

std::vector<Grid> sweep_grids(int multiprocessors, std::uint64_t useful_threads,
                              const Parameters& parameters) {
  const auto processors = static_cast<unsigned>(multiprocessors);
  const auto shape = [](unsigned blocks, unsigned threads, unsigned depth) {
    return Grid{.blocks = blocks, .threads = threads, .depth = depth};
  };
  const Grid first = shape(processors, 512, 12);
  if (const auto fixed = fixed_grid(sweep_numbers, first, parameters)) {
    require_sweep(*fixed);
    return {*fixed};
  }
  Grid streaming = shape(2 * processors, 512, 8);
  streaming.streaming = 1;
  const Grid wanted[] = {
      first,
      shape(2 * processors, 1024, 4),
      shape(2 * processors, 512, 8),
      shape(4 * processors, 512, 4),
      shape(processors, 1024, 8),
      streaming,
      shape(std::max(processors / 2, 1U), 512, 12),
      shape(one_tile_each, 512, 4),
      shape(one_tile_each, 256, 8),
  };
  std::vector<Grid> grids;
  for (Grid grid : wanted) {
    if (grid.blocks == one_tile_each) {
      if (with_a_block_per_tile(grid, useful_threads).blocks >= processors) grids.push_back(grid);
      continue;
    }
    const std::uint64_t useful = (useful_threads + grid.threads - 1) / grid.threads;
    if (useful < grid.blocks) grid.depth = 1;  // each thread has one vector at most
    grid.blocks = static_cast<unsigned>(std::min<std::uint64_t>(grid.blocks, useful));
    add_unlike(grids, grid);
  }
  return grids;
}

Grid with_a_block_per_tile(Grid grid, std::uint64_t useful_threads) {
  constexpr std::uint64_t most_tiles =
      std::numeric_limits<std::int32_t>::max();  // of a grid's first dimension
  const std::uint64_t tile = static_cast<std::uint64_t>(grid.threads) * grid.depth;
  grid.blocks =
      static_cast<unsigned>(std::clamp<std::uint64_t>((useful_threads + tile - 1) / tile, 1, most_tiles));
  return grid;
}

Bytes bulk_shared_bytes(const Grid& grid) {
  return static_cast<Bytes>(grid.threads / bulk_warp) * grid.depth * (grid.piece + sizeof(std::uint64_t));
}

std::vector<Grid> bulk_grids(int multiprocessors, Bytes shared_bytes, Bytes bytes, Bytes row,
                             const Parameters& parameters) {
  const auto processors = static_cast<unsigned>(multiprocessors);
  const auto shape = [](unsigned blocks, unsigned threads, unsigned depth, Bytes piece) {
    return Grid{.blocks = std::max(blocks, 1U),
                .threads = threads,
                .depth = depth,
                .piece = static_cast<unsigned>(piece)};
  };
  const Grid wanted[] = {
      shape(processors, 32, 8, 16 * KiB),     shape(processors / 2, 32, 8, 16 * KiB),
      shape(processors / 4, 32, 8, 16 * KiB), shape(processors / 8, 32, 8, 16 * KiB),
      shape(2 * processors, 32, 4, 16 * KiB), shape(processors, 128, 4, 8 * KiB),
      shape(processors / 2, 128, 8, 4 * KiB), shape(processors / 2, 32, 4, 32 * KiB),
      shape(4 * processors, 32, 4, 8 * KiB),
  };
  if (const auto fixed = fixed_grid(bulk_numbers, wanted[0], parameters)) {
    require_bulk(*fixed, shared_bytes);
    return {*fixed};
  }
  std::vector<Grid> grids;
  for (const Grid& each : wanted) {
    const Grid grid = fitted(each, bytes, row);
    if (bulk_shared_bytes(grid) <= shared_bytes) add_unlike(grids, grid);
  }
  return grids;
}

void GridChoice::offer(TransferFacts& facts) const {
  facts.candidates.clear();
  for (const Grid& grid : grids_) {
    Setting& setting = facts.candidates.emplace_back();
    for (const GridNumber& one : numbers_) setting.emplace_back(one.parameter.name, grid.*one.number);
  }
  facts.setting = facts.candidates.front();
}

void GridChoice::use(const Setting& setting) {
  Grid grid = grids_.front();
  for (const auto& [name, value] : setting) {
    const auto known = std::find_if(numbers_.begin(), numbers_.end(), [&name = name](const GridNumber& one) {
      return one.parameter.name == name;
    });
    if (known == numbers_.end()) throw Error(Fault::bad_input, "launch shapes here have no " + name);
    grid.*known->number = checked(*known, value);
  }
  used_ = grid;
}

}  // namespace linkscope::gpu
