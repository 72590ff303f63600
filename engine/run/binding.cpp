// Looks the names of a plan up in a catalog.
#include "run/binding.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace linkscope {
namespace {

const Memory& listed(const std::unique_ptr<Memory>& memory) { return *memory; }
// NOLINTNEXTLINE(bugprone-return-const-ref-from-parameter): of the catalog, which outlives the plan
const Method& listed(const Method& method) { return method; }

/// `what` is named at `place`.
template <class Entry>
const auto& named(const std::vector<Entry>& catalog, const std::string& name, const std::string& place,
                  const char* what) {
  std::string names;
  for (const Entry& entry : catalog) {
    if (listed(entry).name() == name) return listed(entry);
    names += (names.empty() ? "" : ", ") + std::string(listed(entry).name());
  }
  throw Error(Fault::bad_input, place + ": " + what + ": unknown '" + name + "', this engine has " + names);
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

void bind_flow(Flow& flow, const Backend& backend, const std::string& place) {
  const Method& method = named(backend.methods, flow.method, place, "method");
  flow.row = &method;
  const auto bind_end = [&](Endpoint& end) {
    end.kind = &named(backend.memories, end.memory, place, "memory");
    end.traits = end.kind->traits();
  };
  if (flow.source) bind_end(*flow.source);
  if (flow.destination) bind_end(*flow.destination);
  for (Endpoint& member : flow.members) bind_end(member);
  for (Endpoint& state : flow.state) bind_end(state);
  if (method.traits().schedules != (flow.schedule != nullptr))
    throw Error(Fault::bad_input, place + ": " + flow.method +
                                      (flow.schedule ? " carries out no schedule" : " needs a schedule"));
  if (flow.bytes == 0 && method.reach() == Reach::process)
    throw Error(Fault::bad_input, place + ": bytes: must be at least 1 for " + flow.method);
  for (const auto& [name, value] : flow.parameters.all()) {
    check_parameter(flow, method.parameters, name, value, place);
  }
}

bool on_gpu(const Endpoint& end) { return end.device.kind == DeviceKind::gpu; }

}  // namespace

void bind_names(Plan& plan, const Backend& backend) {
  for (Case& wanted : plan.cases) {
    for (std::size_t i = 0; i < wanted.flows.size(); ++i)
      bind_flow(wanted.flows[i], backend, "case '" + wanted.id + "': flows[" + std::to_string(i) + "]");
  }
}

std::vector<const Endpoint*> ends_of(const Flow& flow) {
  std::vector<const Endpoint*> ends;
  if (flow.source) ends.push_back(&*flow.source);
  if (flow.destination) ends.push_back(&*flow.destination);
  for (const Endpoint& member : flow.members) ends.push_back(&member);
  for (const Endpoint& state : flow.state) ends.push_back(&state);
  return ends;
}

Method of_one_name(Method cpus, Method gpus) {
  if (gpus.spec.quantity != cpus.spec.quantity || gpus.traits() != cpus.traits() ||
      gpus.reach() != cpus.reach())
    throw Error(Fault::broken, std::string(cpus.name()) + ": CPUs and GPUs state different things of it");
  const auto pair = std::make_shared<const std::pair<Method, Method>>(std::move(cpus), std::move(gpus));
  Method both = pair->first;
  for (const Parameter& parameter : pair->second.parameters) {
    const auto same = [&](const Parameter& own) { return own.name == parameter.name; };
    if (std::none_of(both.parameters.begin(), both.parameters.end(), same))
      both.parameters.push_back(parameter);
  }
  both.available = [pair] {
    const Support available = pair->first.available();
    return available ? available : pair->second.available();
  };
  both.chosen = [pair](const Flow& flow) -> const Method& {
    const auto& [by_cpus, by_gpus] = *pair;
    if (by_gpus.reach() == Reach::processes) {
      const auto& workers = flow.state.empty() ? flow.members : flow.state;
      return std::any_of(workers.begin(), workers.end(), on_gpu) ? by_gpus : by_cpus;
    }
    if (flow.executor.kind == DeviceKind::gpu) return by_gpus;
    const bool gpus_alone = !by_cpus.supports(flow) && by_gpus.available() && by_gpus.supports(flow);
    return gpus_alone ? by_gpus : by_cpus;
  };
  return both;
}

}  // namespace linkscope
