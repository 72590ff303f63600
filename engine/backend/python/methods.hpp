// The methods that a Python child carries out.
#pragma once

#include <memory>
#include <vector>

#include "backend/python/context.hpp"
#include "model/method.hpp"

namespace linkscope::python {

/// torch-copy, torch-send, torch-collective, torch-mpi. The child checks what a row does not say, allocates what the
/// ends say (tensors, which are no Buffer), and takes a case's clock and cache state as they are: the engine holds no
/// memory for these flows.
[[nodiscard]] std::vector<Method> methods(const std::shared_ptr<PythonContext>& context);

}  // namespace linkscope::python
