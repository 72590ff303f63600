// Opens a described node as a backend on a virtual clock.
#pragma once

#include <memory>

#include "backend/modelled/context.hpp"
#include "backend/modelled/machine.hpp"
#include "model/backend.hpp"

namespace linkscope::modelled {

/// A backend without methods and memories, and what those share. The catalog fills them in from method_rows
/// and memory_specs: ModelledMethod(context, row), ModelledMemory(context, spec).
struct OpenedMachine {
  Backend backend;
  std::shared_ptr<const ModelledContext> context;
};

/// A machine without devices is fine: it offers the whole catalog and runs nothing.
OpenedMachine open(Machine machine);

}  // namespace linkscope::modelled
