// Grid: the shape of a kernel's launch, how a plan fixes it, and which shapes are tried.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "backend/gpu/vendor.hpp"
#include "base/units.hpp"
#include "model/flow.hpp"
#include "model/transfer.hpp"

namespace linkscope::gpu {

/// A kernel loads and stores as usual, or asks caches not to keep the lines.
enum class Access { cached, streaming };

/// Grid::blocks: as many as there are tiles of threads * depth vectors, each block leaving after its own. The hardware
/// hands tiles out in order, so that those in flight are close together, in time and in memory.
inline constexpr unsigned one_tile_each = 0;

/// A kernel uses the numbers that its method names (GridNumber).
struct Grid {
  unsigned blocks = 1;     ///< for all repeats together, or one_tile_each
  unsigned threads = 128;  ///< per block
  unsigned depth = 1;      ///< loads in flight: a thread's vectors, or a warp's pieces
  unsigned piece = 0;      ///< bytes of one such piece
  unsigned streaming = 0;  ///< 1: Access::streaming

  bool operator==(const Grid&) const = default;
  [[nodiscard]] Access access() const { return streaming == 0 ? Access::cached : Access::streaming; }
};

/// A number of a grid, and the parameter that fixes it: its name in plans and rows.
struct GridNumber {
  Parameter parameter;
  decltype(&Grid::blocks) number;
  unsigned unit = 1;  ///< values are multiples of it
};
using GridNumbers = std::span<const GridNumber>;

inline constexpr unsigned most_grid_blocks = 1U << 20U;
inline constexpr Parameter blocks_parameter =
    integer("blocks", "blocks of the grid, tuned unless set", 1, most_grid_blocks);
inline constexpr Parameter threads_parameter =
    integer("threads", "threads per block, a multiple of 128, tuned unless set", 128, 1024);
/// Grids of blocks and threads alone are tuned by these.
inline constexpr GridNumber plain_grid_numbers[] = {{blocks_parameter, &Grid::blocks},
                                                    {threads_parameter, &Grid::threads, 128}};

/// The parameters that fix these numbers, and `others` behind them.
std::vector<Parameter> parameters_of(GridNumbers numbers, std::initializer_list<Parameter> others = {});
/// `first` with those of `numbers` that a flow names; nothing where it names none. Throws Error{bad_input} for one that
/// is out of its range.
std::optional<Grid> fixed_grid(GridNumbers numbers, const Grid& first, const Parameters& parameters);
/// Adds `grid` where it is not among them yet.
void add_unlike(std::vector<Grid>& grids, const Grid& grid);

inline constexpr Parameter streaming_parameter =
    integer("streaming", "1: loads and stores that ask caches not to keep the lines, tuned unless set", 0, 1);
/// Sweeping kernels are tuned by these: threads stride over the data by the number of all threads, `depth` vectors in
/// flight at a time.
inline constexpr GridNumber sweep_numbers[] = {
    {integer("blocks",
             "blocks of the grid, tuned unless set; 0: one for every tile of threads times unroll vectors",
             one_tile_each, most_grid_blocks),
     &Grid::blocks},
    {threads_parameter, &Grid::threads, 128},
    {integer("unroll", "16-byte loads in flight per thread, 1 or a multiple of 4, tuned unless set", 1, 12),
     &Grid::depth},
    {streaming_parameter, &Grid::streaming}};
/// Threads per block that a sweeping kernel of this depth has registers for.
constexpr unsigned most_threads(unsigned depth) { return depth >= 12 ? 512 : 1024; }
/// Grids of sweep_numbers worth trying on a GPU of so many multiprocessors where `useful_threads` can have something to
/// do at once, best guess first, none with blocks that would have nothing to do; the one that parameters fix.
std::vector<Grid> sweep_grids(int multiprocessors, std::uint64_t useful_threads,
                              const Parameters& parameters);
/// A grid of one_tile_each with the number of its tiles.
Grid with_a_block_per_tile(Grid grid, std::uint64_t useful_threads);

/// Bulk copies are tuned by these: one thread of every warp drives a ring of `depth` pieces of shared memory.
inline constexpr GridNumber bulk_numbers[] = {
    {blocks_parameter, &Grid::blocks},
    {integer("threads",
             "threads per block, a multiple of 32, of which one of each warp drives a ring, tuned unless set",
             32, 1024),
     &Grid::threads, 32},
    {integer("stages",
             "pieces in flight per warp, half of them coming, half leaving, a power of two, tuned unless set",
             2, 16),
     &Grid::depth},
    {integer("stage_bytes", "bytes of one piece, a multiple of 16, tuned unless set", 16, 1U << 20U),
     &Grid::piece, 16}};
/// Shared memory of a block: its rings and their barriers.
Bytes bulk_shared_bytes(const Grid& grid);
/// As sweep_grids, for a copy of `bytes` in rows of `row` bytes where a block may have so much shared memory. Throws
/// Error{unsupported} where parameters ask for more of it.
std::vector<Grid> bulk_grids(int multiprocessors, Bytes shared_bytes, Bytes bytes, Bytes row,
                             const Parameters& parameters);

/// The grids that a transfer offers for tuning, best guess first, and the one in use.
class GridChoice {
 public:
  GridChoice(GridNumbers numbers, std::vector<Grid> grids)
      : numbers_(numbers), grids_(std::move(grids)), used_(grids_.front()) {}

  [[nodiscard]] const Grid& used() const { return used_; }
  [[nodiscard]] const std::vector<Grid>& all() const { return grids_; }
  /// Adds one more to try, after the others.
  void add(const Grid& grid) { grids_.push_back(grid); }
  /// States them among a transfer's facts, the first as the one in use.
  void offer(TransferFacts& facts) const;
  /// Takes the grid that `setting` stands for. Throws Error{bad_input} for anything else.
  void use(const Setting& setting);

 private:
  GridNumbers numbers_;
  std::vector<Grid> grids_;
  Grid used_;
};

}  // namespace linkscope::gpu
