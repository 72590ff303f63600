// DependentLaunch: which of its ways a member's kernels are launched in, and what that asks of the room.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "collective/protocol/workspace.hpp"
#include "model/flow.hpp"

namespace linkscope::direct {

/// What the members have in common: the same in every process.
struct DeviceLimits {
  /// Blocks that are resident at once on every member's GPU: a block waits for others, so no block may wait for its
  /// turn.
  unsigned most_blocks = 1;
  bool lines = false;         ///< lines arrive whole between any two of the GPUs
  bool peers = false;         ///< every member's kernels reach every member's buffers
  bool programmatic = false;  ///< vendor::Start::programmatic is to be had on every member's GPU
  bool shared = false;        ///< two members are on one GPU
};

/// "programmatic".
std::string_view name_of(DependentLaunch dependent);

/// Those that parameter dependent_launch asks for, best guess first; the same in every process. Throws Error{bad_input}
/// for a word that means none, Error{unsupported} for one that the form or the room has not.
std::vector<DependentLaunch> dependent_launches(const DeviceLimits& limits, const Parameters& parameters);

/// Kernels of one member that may be on its GPU at once and count where members share it: those that wait for their
/// predecessor's end could keep out another member's kernel, for which that predecessor waits.
unsigned crowd(const DeviceLimits& limits, DependentLaunch dependent);

/// What that parameter means, for the catalog.
std::map<std::string, std::string> dependent_launch_parameters();

}  // namespace linkscope::direct
