// Reads the schedule of a flow (schema/plan.schema.json: schedule).
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "model/schedule.hpp"
#include "record/json_lines.hpp"

namespace linkscope {

/// A checked schedule of `ranks` ranks; `place` names it in errors. Throws Error{bad_input}.
std::shared_ptr<const Schedule> parse_schedule(const Json& json, const std::string& place, std::size_t ranks);

}  // namespace linkscope
