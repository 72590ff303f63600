// Batch: how often each flow of a case repeats in one sample.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "model/flow.hpp"

namespace linkscope {

using Repeats = std::vector<std::uint64_t>;

/// Time of one transfer of a flow, running together with the others, the flow's role, and the most repeats
/// that one start of it can hold back.
struct RateEstimate {
  Seconds per_transfer = 0;
  Role role = Role::measured;
  std::string group;  ///< flows of one tuning group are alike by construction; empty: no group
  std::uint64_t max_repeats = std::numeric_limits<std::uint64_t>::max();
  std::string call_group{};  // NOLINT(readability-redundant-member-init): lets initialisers leave it out

  /// Tells whether the two flows must repeat alike.
  [[nodiscard]] bool same_group(const RateEstimate& other) const {
    return !call_group.empty() && call_group == other.call_group && role == other.role;
  }
};

/// One start of a flow: how often it repeated, and how long that took.
struct TimedRepeats {
  Seconds length = 0;
  std::uint64_t repeats = 1;
};

/// Time of one transfer as the last start shows it, start and end included, unless these are most of it: by the start
/// `before` then, which repeated another number of times. A start that thousands of repeats must make up for would
/// otherwise be taken for a slow transfer, and so be repeated once. At least an eighth of the simple estimate.
[[nodiscard]] Seconds per_transfer_of(const TimedRepeats& last, const std::optional<TimedRepeats>& before);

/// Repeats for a sample of at least `target` seconds.
/// - The slowest measured flow repeats ceil(target / its time).
/// - The other measured flows repeat as often where all are of one group or their times are within 20 % of the
///   slowest, so that the common case keeps equal bytes on equal paths. Where they are not, each flow gets its own
///   repeats, such that all take about the same time: the case then measures a steady mixture, not the tail of its
///   slowest flow. The sample grows, at most fourfold, until whole numbers fit to 10 %.
/// - Flows that must repeat alike do so at the rate of the slowest of them.
/// - Background flows repeat until they outlast the measured ones by 30 %.
/// - Where a flow cannot repeat that often, the whole sample becomes shorter.
Repeats plan_repeats(std::vector<RateEstimate> estimates, Seconds target);

}  // namespace linkscope
