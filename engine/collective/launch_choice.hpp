// LaunchChoice: an algorithm and the grid it is launched with; which are worth measuring.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "collective/algorithm.hpp"
#include "collective/dependent_launch.hpp"
#include "collective/kernels/push_kernels.hpp"
#include "collective/kernels/ring_kernels.hpp"
#include "model/collective.hpp"
#include "model/flow.hpp"
#include "model/transfer.hpp"

namespace linkscope::direct {

struct LaunchChoice {
  Algorithm algorithm = Algorithm::one_shot_ll;
  unsigned blocks = 1;
  unsigned threads = 512;  ///< per block: a multiple of 32
  Bytes chunk = 0;         ///< of pushes and rings alone
  DependentLaunch dependent = DependentLaunch::complete;

  bool operator==(const LaunchChoice&) const = default;
  /// "algorithm" (its number), "blocks", "threads", "chunk" where there are any, "dependent_launch" (its number).
  [[nodiscard]] Setting setting() const;
  static LaunchChoice from(const Setting& setting);
};

/// How `choice` cuts a sum that is pushed, and what goes round a ring.
PushCut push_cut_of(const CollectiveShape& shape, const LaunchChoice& choice, int me);
RingCut ring_cut_of(const CollectiveShape& shape, const LaunchChoice& choice, int me);

/// Which algorithms and grids to measure, best guess first; one where parameters algorithm, blocks, threads and chunk
/// fix it. The limits are generous: what is best is for the measurement to say. Throws Error{unsupported} for an
/// algorithm that the collective or the room does not have, Error{bad_input} for a grid that cannot be.
std::vector<LaunchChoice> choices_for(const CollectiveShape& shape, const DeviceLimits& limits,
                                      const Parameters& parameters);

/// Bytes of staging that any of the choices can need, whatever the room.
Bytes staging_bytes(const CollectiveShape& shape, const Parameters& parameters);

/// What those parameters mean, for the catalog.
std::map<std::string, std::string> choice_parameters();

}  // namespace linkscope::direct
