// Plays flows that start together on a virtual timeline.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/modelled/fair_share.hpp"
#include "model/flow.hpp"

namespace linkscope::modelled {

/// One lane: `repeats` times, back to back, a fixed latency and then bytes at the rate the others leave.
struct LaneWork {
  BandwidthDemand demand;
  Seconds latency = 0;
  Bytes bytes = 0;  ///< 0: the latency is all there is
  std::uint64_t repeats = 1;
  std::uint64_t tail = 0;  ///< more than 0: goes on after its end as a background lane does
  Role role = Role::measured;
  bool operator==(const LaneWork&) const = default;
};

/// Seconds from the common start to each lane's end. Rates change whenever a lane starts or ends moving bytes.
/// A background lane goes on until the last measured lane ends, whatever its repeats; where every lane is
/// background all count as measured.
std::vector<Seconds> play(const std::vector<LaneWork>& works, const std::vector<double>& capacities);

}  // namespace linkscope::modelled
