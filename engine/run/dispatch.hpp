// dispatch(): one row of the catalog for a method that CPUs and GPUs each carry out in their own way.
#pragma once

#include "model/method.hpp"

namespace linkscope {

/// The parameters are both's. The executor says which of the two carries a flow out; a CPU's flow goes to the GPUs' row
/// where only that takes it (a CPU that works on managed memory). Of a method of several parts, the GPUs' row takes the
/// flows of which a GPU has any of the state or, without any, of the members. Throws Error{broken} where the two state
/// different quantities or traits.
[[nodiscard]] Method dispatch(Method on_cpus, Method on_gpus);

}  // namespace linkscope
