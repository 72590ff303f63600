// LaunchChoice: an algorithm and the grid it is launched with; which are worth measuring.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "collective/algorithm.hpp"
#include "model/collective.hpp"
#include "model/flow.hpp"
#include "model/transfer.hpp"

namespace linkscope::direct {

struct LaunchChoice {
  Algorithm algorithm = Algorithm::one_shot_ll;
  unsigned blocks = 1;
  unsigned threads = 512;  ///< per block: a multiple of 32

  bool operator==(const LaunchChoice&) const = default;
  /// "algorithm" (its number), "blocks", "threads".
  [[nodiscard]] Setting setting() const;
  static LaunchChoice from(const Setting& setting);
};

/// What the members have in common: the same in every process.
struct Room {
  /// Blocks that are resident at once on every member's GPU: a block waits for others, so no block may wait for its turn.
  unsigned most_blocks = 1;
  bool lines = false;  ///< lines arrive whole between any two of the GPUs
  bool peers = false;  ///< every member's kernels reach every member's buffers
};

/// Which algorithms and grids to measure, best guess first; one where parameters algorithm, blocks and threads fix it. The
/// limits are generous: what is best is for the measurement to say. Throws Error{unsupported} for an algorithm that the
/// collective or the room does not have, Error{bad_input} for a grid that cannot be.
std::vector<LaunchChoice> choices_for(const CollectiveShape& shape, const Room& room,
                                      const Parameters& parameters);

/// Bytes of staging that any of the choices can need, whatever the room.
Bytes staging_bytes(const CollectiveShape& shape, const Parameters& parameters);

/// What those parameters mean, for the catalog.
std::map<std::string, std::string> choice_parameters();

}  // namespace linkscope::direct
