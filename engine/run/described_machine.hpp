// Reads the node that a modelled plan describes.
#pragma once

#include <string>

#include "backend/modelled/machine.hpp"
#include "record/json_lines.hpp"

namespace linkscope {

/// What a method costs and reaches; `place` names it in errors. Throws Error{bad_input}.
MethodFigures parse_figures(const Json& json, const std::string& place);

/// Throws Error{bad_input}: one line naming the member (schema/plan.schema.json: machine).
modelled::Machine parse_machine(const Json& json);

}  // namespace linkscope
