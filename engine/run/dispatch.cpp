// Which of two rows carries a flow out.
#include "run/dispatch.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace linkscope {
namespace {

bool on_gpu(const Endpoint& end) { return end.device.kind == DeviceKind::gpu; }

struct Pair {
  Method cpus;
  Method gpus;

  [[nodiscard]] const Method& pick(const Flow& flow) const {
    if (gpus.reach() == Reach::processes) {
      const auto& workers = flow.state.empty() ? flow.members : flow.state;
      return std::any_of(workers.begin(), workers.end(), on_gpu) ? gpus : cpus;
    }
    if (flow.executor.kind == DeviceKind::gpu) return gpus;
    const bool gpus_alone = !cpus.supports(flow) && gpus.available() && gpus.supports(flow);
    return gpus_alone ? gpus : cpus;
  }
};

}  // namespace

Method dispatch(Method on_cpus, Method on_gpus) {
  if (on_gpus.spec.quantity != on_cpus.spec.quantity || on_gpus.traits() != on_cpus.traits() ||
      on_gpus.reach() != on_cpus.reach())
    throw Error(Fault::broken, std::string(on_cpus.name()) + ": CPUs and GPUs state different things of it");
  const auto pair = std::make_shared<const Pair>(Pair{std::move(on_cpus), std::move(on_gpus)});
  Method both = pair->cpus;
  for (const Parameter& parameter : pair->gpus.parameters) {
    const auto same = [&](const Parameter& own) { return own.name == parameter.name; };
    if (std::none_of(both.parameters.begin(), both.parameters.end(), same))
      both.parameters.push_back(parameter);
  }
  both.available = [pair] {
    const Support available = pair->cpus.available();
    return available ? available : pair->gpus.available();
  };
  both.supports = [pair](const Flow& flow) {
    const Method& method = pair->pick(flow);
    const Support available = method.available();
    return available ? method.supports(flow) : available;
  };
  both.supports_in = [pair](const Flow& flow, const Case& wanted) {
    return pair->pick(flow).supports_in(flow, wanted);
  };
  both.quantity_of = [pair](const Flow& flow) { return pair->pick(flow).quantity(flow); };
  both.footprint = [pair](const Flow& flow) { return pair->pick(flow).footprint(flow); };
  both.slot_stride = [pair](const Flow& flow) { return pair->pick(flow).stride(flow); };
  both.rotation_bytes = [pair](const Flow& flow) { return pair->pick(flow).rotation_bytes(flow); };
  both.parts = [pair](const Flow& flow) { return pair->pick(flow).parts_of(flow); };
  if (both.assemble)
    both.assemble = [pair](const Flow& flow, const std::vector<LocalPart>& own) {
      return pair->pick(flow).assemble(flow, own);
    };
  else
    both.prepare = [pair](const Flow& flow, const Arenas& arenas) {
      return pair->pick(flow).prepare(flow, arenas);
    };
  return both;
}

}  // namespace linkscope
