// TransferFacts: what a transfer states about itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "model/flow.hpp"

namespace linkscope {

/// A launch shape: named whole numbers, as they stand in the row ("blocks" 264, "threads" 1024).
using Setting = std::vector<std::pair<std::string, std::int64_t>>;

/// Fixed once the transfer is ready to run, so that it can be asked at any time, kept, adjusted and sent to other
/// processes. What changes as it runs (bytes verified, remarks, what counts of a span) is asked of the transfer itself.
struct TransferFacts {
  /// Dependent operations in one transfer: 1 for a copy, the hops of a chase. Time is reported per operation.
  std::uint64_t operations = 1;
  /// Most repeats that one start may hold back: a GPU's queue is finite. Gate::hold refuses more.
  std::uint64_t max_repeats = std::numeric_limits<std::uint64_t>::max();
  /// The same on Clock::batch, where nothing is held back; 0: max_repeats there too.
  std::uint64_t max_calls_in_batch = 0;
  /// Repeats of a sample whose first and last wait for others, as far as the budget lasts (nccl-tests makes 20); 0: as
  /// many as make it long enough.
  std::uint64_t calls_in_a_row = 0;
  /// Its samples last at least as long, because of what happens between two starts; 0: no need.
  Seconds min_sample_s = 0;
  /// Whether members exchange data: the measurement also makes transfers one by one, each with new inputs, and checks
  /// each, so that neither data of an earlier call nor a call that did nothing passes.
  bool collective = false;
  /// Whether each transfer adds to what the last one left: verify() then holds of the first transfer since arm() alone,
  /// so those that are made one by one are all that is checked.
  bool accumulates = false;
  /// Whether each start is checked by itself, so that a start of one transfer finds one that does nothing.
  bool checks_starts = false;
  /// Bytes read plus bytes written by one transfer, where users of a method expect that beside the payload (STREAM,
  /// local copies); 0: not stated.
  Bytes touched_bytes = 0;
  /// What it is sent with: transfers that name the same group go out by common calls, and so repeat equally often.
  /// Empty: by itself.
  std::string call_group;
  /// Launch shapes worth trying, best guess first; fewer than two: nothing to tune.
  std::vector<Setting> candidates;
  /// The launch shape that it has until another is chosen, for the row: of candidates, the first.
  Setting setting;

  bool operator==(const TransferFacts&) const = default;
  /// One start holds at most that many transfers, on every clock.
  void limit(std::uint64_t most) {
    max_repeats = std::min(max_repeats, most);
    if (max_calls_in_batch > 0) max_calls_in_batch = std::min(max_calls_in_batch, most);
  }
  /// Whichever of the two bounds holds on `clock`.
  [[nodiscard]] std::uint64_t most_repeats(Clock clock) const {
    return clock == Clock::batch && max_calls_in_batch > 0 ? max_calls_in_batch : max_repeats;
  }
  /// States `shapes` (each with a setting()) as the candidates, the first of which is in use.
  template <class Shapes>
  void offer(const Shapes& shapes) {
    candidates.clear();
    for (const auto& shape : shapes) candidates.push_back(shape.setting());
    setting = candidates.front();
  }
};

}  // namespace linkscope
