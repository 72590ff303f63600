// BoundCase: a case of the plan with what its names stand for in a backend's catalog.
#pragma once

#include <vector>

#include "model/backend.hpp"
#include "model/flow.hpp"
#include "run/plan.hpp"

namespace linkscope {

/// An end of a flow, or a member of a collective, and its kind of memory.
struct BoundEnd {
  const Endpoint& where;
  const Memory& memory;
};

struct BoundFlow {
  const Flow& flow;
  const Method& method;
  std::vector<BoundEnd> ends;  ///< source, destination, members and their state: those that there are

  /// The kind of memory of an end of one of the flow's parts, which is one of the flow's. Throws Error{broken} for
  /// another.
  [[nodiscard]] const Memory& memory_of(const Endpoint& end) const;
};

struct BoundCase {
  const Case& wanted;
  std::vector<BoundFlow> flows;
};

/// Looks all names up, once, and gives every endpoint of the plan its memory's traits; plan and backend outlive what it
/// gives. Throws Error{bad_input} when the plan names a method, a memory or a parameter that the catalog of `backend`
/// does not know.
std::vector<BoundCase> bind_names(Plan& plan, const Backend& backend);

}  // namespace linkscope
