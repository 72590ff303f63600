// DirectOptions: how the calls of a direct collective are made; StressOptions: how tests stress them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/units.hpp"
#include "collective/protocol/workspace.hpp"
#include "model/flow.hpp"

namespace linkscope::direct {

/// eager: a launch for each call. graph: calls recorded once, launched as a graph. in_kernel: one launch makes all the
/// calls of a start; its blocks go on to the next call when their part of one is complete.
enum class LaunchMode { eager, graph, in_kernel };

struct DirectOptions {
  LaunchMode launching = LaunchMode::eager;
  std::uint64_t recorded = 1;  ///< calls that one graph holds

  /// Throws Error{bad_input} for what means nothing.
  static DirectOptions of(const Parameters& parameters);
};

/// Options that no plan can set: tests make a method with them. The defaults are every run's.
struct StressOptions {
  /// Numbers that differ from call to call, checked in the kernel (int32, out of place).
  SelfCheck self_check = SelfCheck::off;
  Seconds wait_limit = 10;  ///< how long a kernel waits for a member before all give up
  Seconds jitter = 0;       ///< calls begin up to about this much later, by chance: members, and threads
};

/// What form and recorded mean, for the catalog.
std::map<std::string, std::string> form_parameters();

}  // namespace linkscope::direct
