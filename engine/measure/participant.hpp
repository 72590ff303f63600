// Participant: one flow of a case as the measurement sees it.
#pragma once

#include <string>

#include "base/units.hpp"
#include "model/flow.hpp"
#include "model/method.hpp"
#include "model/transfer.hpp"

namespace linkscope {

/// A prepared flow with what its figures need. `transfer` outlives the measurement.
struct Participant {
  Transfer* transfer = nullptr;
  Bytes bytes = 0;  ///< payload of one operation
  Role role = Role::measured;
  Quantity quantity = Quantity::bandwidth;
  std::string tuning_group;

  [[nodiscard]] bool measured() const { return role == Role::measured; }
};

}  // namespace linkscope
