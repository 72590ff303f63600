// LaunchShape: how many threads a kernel gets and how each of them works.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backend/gpu/context.hpp"
#include "base/units.hpp"
#include "model/flow.hpp"
#include "model/transfer.hpp"

namespace linkscope::gpu {

/// Bytes that one thread moves with one instruction.
inline constexpr Bytes vector_bytes = 16;

/// How a kernel loads and stores: as usual, or asking caches not to keep the lines.
enum class Access { cached, streaming };

/// LaunchShape::blocks: as many as there are tiles of threads * unroll vectors, each block leaving after its own. The
/// hardware hands tiles out in order, so that those in flight are close together, in time and in memory.
inline constexpr unsigned one_tile_each = 0;

/// Every thread strides over the data by the number of all threads, `unroll` vectors in flight at a time.
struct LaunchShape {
  unsigned blocks = 1;     ///< for all repeats together, or one_tile_each
  unsigned threads = 256;  ///< per block
  unsigned unroll = 1;     ///< 1, 4, 8 or 12
  Access access = Access::cached;

  bool operator==(const LaunchShape&) const = default;
  [[nodiscard]] Setting setting() const;
  /// The inverse of setting(). Throws Error{bad_input} for anything else.
  static LaunchShape from(const Setting& setting);
};

/// Threads per block that a kernel of this unrolling has registers for.
constexpr unsigned most_threads(unsigned unroll) { return unroll >= 12 ? 512 : 1024; }

/// Shapes worth trying on `device` where `useful_threads` can have something to do at once, best guess first, none with
/// blocks that would have nothing to do. Parameters blocks, threads, unroll and streaming fix the shape instead.
std::vector<LaunchShape> shapes_for(const GpuProperties& device, std::uint64_t useful_threads,
                                    const Parameters& parameters);
/// A shape of one_tile_each with the number of its tiles.
LaunchShape with_a_block_per_tile(LaunchShape shape, std::uint64_t useful_threads);

/// What those parameters mean, for the catalog.
std::map<std::string, std::string> shape_parameters();

}  // namespace linkscope::gpu
