// MeasuredFlow: one flow of a case as the measurement sees it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "model/flow.hpp"
#include "model/flow_part.hpp"
#include "model/method.hpp"
#include "model/transfer.hpp"

namespace linkscope {

/// A further part of a flow that several devices or processes carry out together.
struct MeasuredPart {
  Transfer* transfer = nullptr;
  Timing timing = Timing::timed;
};

/// A prepared flow with what its figures need. The transfers outlive the measurement.
struct MeasuredFlow {
  Transfer* transfer = nullptr;  ///< the first part's: it speaks for all (candidates, operations, queue)
  Bytes bytes = 0;               ///< payload of one operation
  Role role = Role::measured;
  Quantity quantity = Quantity::bandwidth;
  std::string tuning_group;
  Timing timing = Timing::timed;  ///< of the first part
  std::vector<MeasuredPart>
      companions{};  // NOLINT(readability-redundant-member-init): lets initialisers leave it out
  std::vector<std::string>
      notes{};  // NOLINT(readability-redundant-member-init): for the row, beside the transfer's

  [[nodiscard]] bool measured() const { return role == Role::measured; }
  /// Calls `what` with every part's transfer, in order.
  template <class What>
  void each_part(const What& what) const {
    what(*transfer);
    for (const MeasuredPart& companion : companions) what(*companion.transfer);
  }
};

/// What stands before words about flow i of `flows`: nothing where it is the only one.
inline std::string place_of(const std::vector<MeasuredFlow>& flows, std::size_t i) {
  return flows.size() > 1 ? "flow " + std::to_string(i) + ": " : "";
}

}  // namespace linkscope
