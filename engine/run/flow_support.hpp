// Whether this process can do its share of a flow.
#pragma once

#include "comm/process_group.hpp"
#include "model/backend.hpp"
#include "model/support.hpp"
#include "run/bound_case.hpp"

namespace linkscope {

/// Yes, or why not: what the catalog says, devices that are not here, and processes that the run does not have.
Support supports(const Backend& backend, const ProcessGroup& group, const BoundFlow& flow);

}  // namespace linkscope
