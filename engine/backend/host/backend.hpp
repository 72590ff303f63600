// The host backend: what the CPUs and memory of this machine offer.
#pragma once

#include <memory>

#include "backend/host/context.hpp"
#include "model/backend.hpp"

namespace linkscope::host {

/// The backend without methods and memories, which the catalog adds, and what they are made with.
struct HostBackend {
  Backend backend;
  std::shared_ptr<HostContext> context;
};

/// Reads the machine. Throws Error{broken} where this process may run on no CPU.
HostBackend open();

}  // namespace linkscope::host
