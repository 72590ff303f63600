// MethodFigures: what a method costs and reaches on a described node, as its plan says.
#pragma once

#include <limits>
#include <optional>
#include <set>
#include <string>

namespace linkscope {

inline constexpr double unlimited = std::numeric_limits<double>::infinity();

struct MethodFigures {
  double latency_us = 0;  ///< fixed cost of one operation
  double step_us =
      0;  ///< of a collective: more for each of its steps; of a pack: for each launch after the first
  double ceiling_gbps = unlimited;  ///< most that one flow gets, whatever its links
  double efficiency = 1;            ///< share of a link's (and a memory's) peak that becomes payload
  /// What caches serve it at, when its bytes take no links and no memory.
  std::optional<double> cached_gbps = std::nullopt;
  std::optional<double> load_ns =
      std::nullopt;  ///< of one dependent load, whatever its memory and links take
  /// Parameters whose values all this is for: what they do is in it.
  // GCC warns where it is left out. NOLINTNEXTLINE(readability-redundant-member-init)
  std::set<std::string> settled = {};
};

}  // namespace linkscope
