// Looks the names of a plan up in a catalog.
#include "run/bound_case.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include "base/error.hpp"

namespace linkscope {
namespace {

/// `place`: what is named, and where.
template <class Listed>
const Listed& named(const std::vector<std::unique_ptr<Listed>>& catalog, const std::string& name,
                    const std::string& place) {
  std::string names;
  for (const auto& entry : catalog) {
    if (entry->name() == name) return *entry;
    names += (names.empty() ? "" : ", ") + std::string(entry->name());
  }
  throw Error(Fault::bad_input, place + ": unknown '" + name + "', this engine has " + names);
}

BoundFlow bind_flow(Flow& flow, const Backend& backend, const std::string& place) {
  BoundFlow bound{flow, named(backend.methods, flow.method, place + ": method"), {}};
  const auto bind_end = [&](Endpoint& end) {
    const Memory& memory = named(backend.memories, end.memory, place + ": memory");
    end.traits = memory.traits();
    bound.ends.push_back({end, memory});
  };
  if (flow.source) bind_end(*flow.source);
  if (flow.destination) bind_end(*flow.destination);
  for (Endpoint& member : flow.members) bind_end(member);
  for (Endpoint& state : flow.state) bind_end(state);
  if (bound.method.traits().schedules != (flow.schedule != nullptr))
    throw Error(Fault::bad_input, place + ": " + flow.method +
                                      (flow.schedule ? " carries out no schedule" : " needs a schedule"));
  if (flow.bytes == 0 && bound.method.reach() == Reach::process)
    throw Error(Fault::bad_input, place + ": bytes: must be at least 1 for " + flow.method);
  const auto known = bound.method.parameters();
  for (const auto& [name, value] : flow.parameters.all()) {
    if (known.contains(name) || (flow.figures && flow.figures->settled.contains(name))) continue;
    throw Error(Fault::bad_input,
                place + ": parameters." + name + ": " + flow.method + " has no such parameter");
  }
  return bound;
}

}  // namespace

const Memory& BoundFlow::memory_of(const Endpoint& end) const {
  const auto found =
      std::find_if(ends.begin(), ends.end(), [&](const BoundEnd& own) { return own.where == end; });
  if (found == ends.end())
    throw Error(Fault::broken, flow.method + " has a part with an end that is none of the flow's");
  return found->memory;
}

std::vector<BoundCase> bind_names(Plan& plan, const Backend& backend) {
  std::vector<BoundCase> cases;
  for (Case& wanted : plan.cases) {
    BoundCase& bound = cases.emplace_back(BoundCase{wanted, {}});
    for (Flow& flow : wanted.flows) {
      const std::string place = "case '" + wanted.id + "': flows[" + std::to_string(bound.flows.size()) + "]";
      bound.flows.push_back(bind_flow(flow, backend, place));
    }
  }
  return cases;
}

}  // namespace linkscope
