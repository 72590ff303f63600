// Reads what the steps of a schedule cost on a described node (schema/plan.schema.json: schedule_figures).
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "model/schedule_figures.hpp"
#include "record/json_lines.hpp"

namespace linkscope {

/// Of a schedule of `ranks` ranks; `place` names it in errors. Throws Error{bad_input}.
std::shared_ptr<const ScheduleFigures> parse_schedule_figures(const Json& json, const std::string& place,
                                                              std::size_t ranks);

}  // namespace linkscope
