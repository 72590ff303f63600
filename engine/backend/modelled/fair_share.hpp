// Max-min fair shares of links and memories among the flows that use them.
#pragma once

#include <vector>

#include "backend/modelled/context.hpp"

namespace linkscope::modelled {

/// How much of a resource one payload byte takes: 1 / efficiency; twice that where it is both read and written.
struct Use {
  Resource resource = 0;
  double weight = 1;
  bool operator==(const Use&) const = default;
};

/// What one flow asks of the node while its bytes move.
struct BandwidthDemand {
  std::vector<Use> uses;       ///< a resource may stand here more than once
  double ceiling = unlimited;  ///< payload bytes per second, whatever the resources
  bool operator==(const BandwidthDemand&) const = default;
};

/// Payload bytes per second of every demand: no flow can gain without one that has no more losing (progressive
/// filling; Bertsekas and Gallager, Data Networks, 2nd ed., section 6.5.2). Infinite where nothing binds.
/// `capacities`: bytes per second of each resource.
std::vector<double> fair_rates(const std::vector<const BandwidthDemand*>& demands,
                               const std::vector<double>& capacities);

}  // namespace linkscope::modelled
