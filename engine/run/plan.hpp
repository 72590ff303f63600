// Plan: what an engine is asked to run, read from JSON (schema/plan.schema.json).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "measure/stopping.hpp"
#include "measure/tuner.hpp"
#include "model/flow.hpp"
#include "model/schedule.hpp"
#include "record/json_lines.hpp"

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

/// A checked schedule of `ranks` ranks ; `place` names it in errors. Throws Error{bad_input}.
std::shared_ptr<const Schedule> parse_schedule(const Json& json, const std::string& place, std::size_t ranks);

/// The most flows that one device drives at the same time in any case of the plan.
std::size_t widest_load(const Plan& plan);

}  // namespace linkscope
