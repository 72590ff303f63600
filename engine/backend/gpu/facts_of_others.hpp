// Facts of transfers that carry out another transfer's work, in a graph or until its call returns.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/transfer.hpp"

namespace linkscope::gpu {

/// Commands that one start may put behind a closed gate, of about a thousand that a stream takes before it blocks.
inline constexpr std::uint64_t queue_share = 256;

/// The facts of one launch of a graph that holds `recorded` transfers like `work`.
inline TransferFacts facts_of_graph(TransferFacts work, std::uint64_t recorded) {
  work.operations *= recorded;
  work.max_repeats =
      std::max<std::uint64_t>(1, std::min(queue_share / recorded, work.max_repeats / recorded));
  work.max_calls_in_batch = 0;
  return work;
}

/// The facts of the call that sets `work` going, timed until it returns: no other shape makes that time another, and it
/// says nothing of a rate.
inline TransferFacts facts_until_return(TransferFacts work) {
  work.max_repeats = std::min(queue_share, work.max_repeats);
  work.max_calls_in_batch = 0;
  work.candidates.clear();
  work.touched_bytes = 0;
  return work;
}

}  // namespace linkscope::gpu
