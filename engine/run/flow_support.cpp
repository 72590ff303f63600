// Asks memories, devices and methods about a flow.
#include "run/flow_support.hpp"

#include <algorithm>
#include <string>

namespace linkscope {
namespace {

Support is_here(const Backend& backend, DeviceId id) {
  const bool found = std::any_of(backend.devices.begin(), backend.devices.end(),
                                 [&](const DeviceFacts& device) { return device.id == id; });
  return found ? Support::yes() : Support::no("there is no " + id.text() + " here");
}

/// The largest rank that a flow names.
int highest_rank(const BoundFlow& bound) {
  int highest = bound.flow.rank;
  for (const BoundEnd& end : bound.ends) highest = std::max(highest, end.where.rank);
  return highest;
}

Support supports(const Backend& backend, const BoundEnd& end) {
  const auto& [where, memory] = end;
  const Support available = memory.available();
  if (!available) return Support::no(where.memory + " memory: " + available.reason());
  for (const DeviceId device : {where.device, where.first_touch}) {
    if (const Support here = is_here(backend, device); !here) return here;
  }
  if (!where.advice.empty() && !memory.takes_advice())
    return Support::no(where.memory + " memory takes no advice");
  return memory.supports(where);
}

}  // namespace

Support supports(const Backend& backend, const ProcessGroup& group, const BoundFlow& bound) {
  const auto& [flow, method, ends] = bound;
  if (highest_rank(bound) >= group.size()) {
    return Support::no("it needs " + std::to_string(highest_rank(bound) + 1) + " processes, this run has " +
                       std::to_string(group.size()));
  }
  const Support available = method.available();
  if (!available) return Support::no(flow.method + ": " + available.reason());
  for (const BoundEnd& end : ends) {
    if (end.where.rank != group.rank()) continue;
    if (const Support lies = supports(backend, end); !lies) return lies;
    if (const Support allowed = end.memory.allows(flow); !allowed) return allowed;
  }
  if (flow.rank == group.rank()) {
    if (const Support here = is_here(backend, flow.executor); !here) return here;
  }
  return method.supports(flow);
}

}  // namespace linkscope
