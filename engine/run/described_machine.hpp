// Reads the node that a modelled plan describes.
#pragma once

#include "backend/modelled/machine.hpp"
#include "record/json_lines.hpp"

namespace linkscope {

/// Throws Error{bad_input}: one line naming the member (schema/plan.schema.json: machine).
modelled::Machine parse_machine(const Json& json);

}  // namespace linkscope
