// BulkShape: how a bulk copy is divided over blocks, and how deep each of its pipelines is.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "model/flow.hpp"
#include "model/transfer.hpp"

namespace linkscope::gpu {

/// One thread of every warp drives a ring of `stages` pieces of shared memory.
struct BulkShape {
  unsigned blocks = 1;
  unsigned threads = 32;  ///< per block, in whole warps of 32
  unsigned stages = 4;    ///< 2, 4, 8 or 16
  unsigned stage_bytes = 16 * KiB;

  bool operator==(const BulkShape&) const = default;
  [[nodiscard]] Setting setting() const;
  /// The inverse of setting().
  static BulkShape from(const Setting& setting);

  [[nodiscard]] unsigned warps() const { return threads / 32; }
  /// Rings and their barriers.
  [[nodiscard]] Bytes shared_bytes() const {
    return static_cast<Bytes>(warps()) * stages * (stage_bytes + sizeof(std::uint64_t));
  }
};

/// What the shapes have to fit.
struct BulkLimits {
  unsigned multiprocessors = 1;
  Bytes shared_bytes = 48 * KiB;  ///< most that one block may have
};

/// Shapes worth trying for `bytes`, best guess first, none with warps that would have nothing to do. Parameters blocks,
/// threads, stages and stage_bytes fix the shape instead; throws Error{bad_input} for what is no shape and
/// Error{unsupported} for more shared memory than a block has.
std::vector<BulkShape> bulk_shapes_for(const BulkLimits& limits, Bytes bytes, const Parameters& parameters);

/// What those parameters mean, for the catalog.
std::map<std::string, std::string> bulk_parameters();

}  // namespace linkscope::gpu
