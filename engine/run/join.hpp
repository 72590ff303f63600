// join: the process of a run with several, which a supervisor tells what to do.
#pragma once

#include <functional>
#include <string>

#include "backend/python/child.hpp"
#include "comm/watchdog.hpp"
#include "model/backend.hpp"
#include "run/environment.hpp"
#include "run/executor.hpp"
#include "run/plan.hpp"

namespace linkscope {

/// What makes an engine of a process.
struct EngineFactory {
  std::string engine;  ///< "host", "cuda" or "hip": the same in all processes of a run
  std::function<Backend(const Plan&, const python::GroupPlace&)> open;
  /// Ends the process; called on another thread when those it depends on are gone and it does not end by itself.
  Watchdog::Leave leave;
};

/// Connects to the supervisor (LINKSCOPE_CONTROL) and says who it is, is given a plan and its place in the group, and
/// works on the plan with the others. Records go to that connection. Throws Error: bad_input where supervisor,
/// environment or processes do not fit together, fatal where another process is gone or late; the supervisor has been
/// told, if it is still there.
Health join(const Environment& environment, const EngineFactory& factory);

}  // namespace linkscope
