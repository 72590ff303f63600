// Looks the names of a plan up in a catalog.
#include "run/bound_case.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include "base/error.hpp"

namespace linkscope {
namespace {

const Memory& listed(const std::unique_ptr<Memory>& memory) { return *memory; }
// NOLINTNEXTLINE(bugprone-return-const-ref-from-parameter): of the catalog, which outlives the plan
const Method& listed(const Method& method) { return method; }

/// `what`: what is named, and where.
template <class Entry>
const auto& named(const std::vector<Entry>& catalog, const std::string& name, const std::string& what) {
  std::string names;
  for (const Entry& entry : catalog) {
    if (listed(entry).name() == name) return listed(entry);
    names += (names.empty() ? "" : ", ") + std::string(listed(entry).name());
  }
  throw Error(Fault::bad_input, what + ": unknown '" + name + "', this engine has " + names);
}

/// Throws where the method's table has no such parameter, or has it with other values.
void check_parameter(const Flow& flow, const std::vector<Parameter>& table, const std::string& name,
                     const std::string& value, const std::string& place) {
  const std::string at = place + ": parameters." + name + ": ";
  const auto known =
      std::find_if(table.begin(), table.end(), [&](const Parameter& row) { return row.name == name; });
  if (known == table.end()) throw Error(Fault::bad_input, at + flow.method + " has no such parameter");
  const std::string objection = known->objection(value);
  if (!objection.empty()) throw Error(Fault::bad_input, at + objection);
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
  for (const auto& [name, value] : flow.parameters.all()) {
    check_parameter(flow, bound.method.parameters, name, value, place);
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
