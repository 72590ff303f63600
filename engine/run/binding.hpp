// Binding: what the names of a plan stand for in a backend's catalog.
#pragma once

#include <vector>

#include "model/backend.hpp"
#include "model/flow.hpp"
#include "run/plan.hpp"

namespace linkscope {

/// Looks all names up, once: gives every flow of the plan its row, and every endpoint its kind of memory and that memory's
/// traits. The backend outlives the plan's use. Throws Error{bad_input} when the plan names a method, a memory or a
/// parameter that the catalog of `backend` does not know.
void bind_names(Plan& plan, const Backend& backend);

/// Returns the row that carries out a flow of a bound plan: of two that share its method's name, one.
[[nodiscard]] inline const Method& method_of(const Flow& flow) {
  return flow.row->chosen ? flow.row->chosen(flow) : *flow.row;
}

/// Returns source, destination, members and their state: those that there are.
[[nodiscard]] std::vector<const Endpoint*> ends_of(const Flow& flow);

/// Returns one row for a method that CPUs and GPUs each carry out in their own way. The parameters are both's. The executor
/// says which of the two carries a flow out; a CPU's flow goes to the GPUs' row where only that takes it (a CPU that works
/// on managed memory). Of a method of several parts, the GPUs' row takes the flows of which a GPU has any of the state or,
/// without any, of the members. Throws Error{broken} where the two state different quantities or traits.
[[nodiscard]] Method of_one_name(Method cpus, Method gpus);

}  // namespace linkscope
