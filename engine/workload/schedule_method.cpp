#include "workload/schedule_method.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "workload/halo_layout.hpp"
#include "workload/host_packer.hpp"

namespace linkscope::workload {
namespace {

/// Says whether a flow has what every method needs to carry a schedule out.
Support takes_ranks(const std::string& method, const Flow& flow) {
  if (flow.members.size() < 2) return Support::no(method + " needs two ranks or more");
  const bool wanted = flow.schedule->grid || flow.schedule->particles;
  if (wanted == flow.state.empty())
    return Support::no(method +
                       (wanted ? " needs state: where fields or particles are" : " packs from no state"));
  for (std::size_t rank = 0; rank < flow.state.size(); ++rank) {
    if (flow.state[rank].rank != flow.members[rank].rank)
      return Support::no(method + ": the state of rank " + std::to_string(rank) + " is in another process");
  }
  return Support::yes();
}

std::vector<FlowPart> parts_of_ranks(const Flow& flow) {
  const Schedule& schedule = *flow.schedule;
  std::vector<FlowPart> parts;
  for (std::size_t i = 0; i < flow.members.size(); ++i) {
    const auto rank = static_cast<int>(i);
    FlowPart part{flow.members[i].rank, worker_of(flow, i).device, std::nullopt, flow.members[i]};
    part.destination_bytes = std::max<Bytes>(MessageSlots(schedule, rank).bytes, 1);
    if (!flow.state.empty()) {
      part.source = flow.state[i];
      part.source_bytes =
          schedule.grid ? HaloLayout::bytes(*schedule.grid, rank) : particle_state_bytes(schedule, rank);
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace

Method schedule_method(const MethodSpec& spec, std::function<Support(const Flow&)> supports) {
  Method method;
  method.spec = spec;
  method.supports = [name = std::string(spec.name), supports = std::move(supports)](const Flow& flow) {
    const Support usual = takes_ranks(name, flow);
    return usual ? supports(flow) : usual;
  };
  method.supports_in = [name = std::string(spec.name)](const Flow& /*flow*/, const Case& wanted) {
    if (wanted.flows.size() > 1) return Support::no(name + " runs alone");
    if (wanted.regime.clock != Clock::host) return Support::no(name + " is timed by the host's clock");
    return Support::yes();
  };
  method.footprint = [](const Flow& /*flow*/) { return Bytes{0}; };  // the parts say what they need
  method.parts = parts_of_ranks;
  return method;
}

bool in_several_processes(const Flow& flow) {
  return std::any_of(flow.members.begin(), flow.members.end(),
                     [&](const Endpoint& member) { return member.rank != flow.members.front().rank; });
}

RankContext rank_context(const Flow& flow, const LocalPart& part, const MakePacker& gpu_packer) {
  RankContext rank{flow.schedule, static_cast<int>(part.index), part.arenas.source, part.arenas.destination};
  const Endpoint& worker = worker_of(flow, part.index);
  const Endpoint& buffers = flow.members[part.index];
  if (worker.device.kind == DeviceKind::numa) {
    rank.packer = std::make_unique<HostPacker>(buffers);
  } else if (gpu_packer) {
    rank.packer = gpu_packer(worker, buffers);
  } else {
    throw Error(Fault::unsupported, "no GPU packs here");
  }
  return rank;
}

}  // namespace linkscope::workload
