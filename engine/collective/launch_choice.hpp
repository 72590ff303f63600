// LaunchChoice: an algorithm and how it is launched; which are worth measuring on members' GPUs.
#pragma once

#include <string_view>
#include <vector>

#include "collective/algorithm.hpp"
#include "collective/kernels/kernels.hpp"
#include "model/flow.hpp"
#include "model/transfer.hpp"

namespace linkscope::direct {

/// The properties that all members' GPUs have in common: the same in every process.
struct DeviceLimits {
  /// Blocks that are resident at once on every member's GPU: a block waits for others, so no block may wait for its
  /// turn.
  unsigned most_blocks = 1;
  bool lines = false;         ///< lines arrive whole between any two of the GPUs
  bool peers = false;         ///< every member's kernels reach every member's buffers
  bool programmatic = false;  ///< every member's kernels can be launched with vendor::Start::programmatic
  bool shared = false;        ///< two members are on one GPU
};

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

/// "programmatic".
constexpr std::string_view name_of(DependentLaunch dependent) {
  return parameter::dependent_launch.word_at(static_cast<std::size_t>(dependent));
}

/// Kernels of one member that may be on its GPU at once and count where members share it: those that wait for their
/// predecessor's end could keep out another member's kernel, for which that predecessor waits.
unsigned crowd(const DeviceLimits& limits, DependentLaunch dependent);

/// Which algorithms, grids and dependent launches to measure, best guess first; one where parameters fix it. The
/// choices are generous: what is best is for the measurement to say. Throws Error{unsupported} for what the collective,
/// the form or the GPUs do not have, Error{bad_input} for a grid that cannot be.
std::vector<LaunchChoice> choices_for(const CollectiveShape& shape, const DeviceLimits& limits,
                                      const Parameters& parameters);

/// Bytes of staging that any of the choices can need, whatever the GPUs.
Bytes staging_bytes(const CollectiveShape& shape, const Parameters& parameters);

}  // namespace linkscope::direct
