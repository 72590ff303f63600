// fake-copy: a copy that fails as its plan asks, so that tests can see what supervises an engine deal with it.
#pragma once

#include <memory>

#include "backend/host/context.hpp"
#include "model/method.hpp"

namespace linkscope::fake {

/// One CPU thread copies host memory, for real. The parameter `inject` asks for a fault: crash ends the process, hang
/// never returns, corrupt damages a byte, error throws Error{broken}.
[[nodiscard]] Method fake_copy(const std::shared_ptr<host::HostContext>& context);

}  // namespace linkscope::fake
