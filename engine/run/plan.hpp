// Plan: what an engine is asked to run, read from JSON (schema/plan.schema.json).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "measure/statistics.hpp"
#include "measure/tuner.hpp"
#include "model/flow.hpp"

namespace linkscope {

inline constexpr int schema_number = 1;

struct Plan {
  SamplingOptions sampling;
  Bytes memory_limit_bytes = 0;  ///< of host memory; 0: what the machine has available
  TuningCache tuned;             ///< launch shapes that earlier visits found best
  std::vector<Case> cases;
};

/// Reads and checks a whole plan. Throws Error{bad_input}: one line naming case and field.
Plan parse_plan(const std::string& text);

/// The most flows that one device drives at the same time in any case of the plan.
std::size_t widest_load(const Plan& plan);

}  // namespace linkscope
