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

/// The part of a flow that one device of one process carries out.
struct MeasuredPart {
  Transfer* transfer = nullptr;
  Timing timing = Timing::timed;
};

/// Says how the time of a flow comes of those of its timed parts: an application waits for its slowest rank.
enum class PartsTime { mean, longest };

/// A prepared flow with what its figures need. The transfers outlive the measurement.
struct MeasuredFlow {
  std::vector<MeasuredPart> parts;  ///< one at least
  Bytes bytes = 0;                  ///< payload of one operation
  Role role = Role::measured;
  Quantity quantity = Quantity::bandwidth;
  std::string tuning_group;
  std::vector<std::string> notes;  ///< for the row, beside the transfers'
  PartsTime time = PartsTime::mean;

  [[nodiscard]] bool measured() const { return role == Role::measured; }
  /// The part whose facts and remarks are the flow's: all parts of one flow do as much in one transfer, repeat equally
  /// often and offer the same launch shapes.
  [[nodiscard]] const Transfer& representative() const { return *parts.front().transfer; }
  [[nodiscard]] const TransferFacts& facts() const { return representative().facts(); }
  /// Calls `what` with every part's transfer, in order.
  template <class What>
  void each_part(const What& what) const {
    for (const MeasuredPart& part : parts) what(*part.transfer);
  }
};

/// Returns what stands before words about flow i of `flows`: nothing where it is the only one.
inline std::string place_of(const std::vector<MeasuredFlow>& flows, std::size_t i) {
  return flows.size() > 1 ? "flow " + std::to_string(i) + ": " : "";
}

}  // namespace linkscope
