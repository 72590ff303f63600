#include "workload/schedule_method.hpp"

#include <string>

#include "base/error.hpp"
#include "workload/halo_layout.hpp"
#include "workload/host_packer.hpp"
#include "workload/message_slots.hpp"
#include "workload/phase_work.hpp"

namespace linkscope::workload {

Support ScheduleMethod::supports(const Flow& flow) const {
  const std::string own(name());
  if (flow.members.size() < 2) return Support::no(own + " needs two ranks or more");
  const bool wanted = flow.schedule->grid || flow.schedule->particles;
  if (wanted == flow.state.empty())
    return Support::no(own +
                       (wanted ? " needs state: where fields or particles are" : " packs from no state"));
  for (std::size_t rank = 0; rank < flow.state.size(); ++rank) {
    if (flow.state[rank].rank != flow.members[rank].rank)
      return Support::no(own + ": the state of rank " + std::to_string(rank) + " is in another process");
  }
  return Support::yes();
}

Support ScheduleMethod::supports_in(const Flow& /*flow*/, const Case& wanted) const {
  if (wanted.flows.size() > 1) return Support::no(std::string(name()) + " runs alone");
  if (wanted.regime.clock != Clock::host)
    return Support::no(std::string(name()) + " is timed by the host's clock");
  return Support::yes();
}

std::vector<FlowPart> ScheduleMethod::parts(const Flow& flow) const {
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

std::unique_ptr<Packer> ScheduleMethod::packer_of(const Flow& flow, std::size_t rank) const {
  const Endpoint& worker = worker_of(flow, rank);
  if (worker.device.kind == DeviceKind::numa) return std::make_unique<HostPacker>(flow.members[rank]);
  if (packers_ == nullptr) throw Error(Fault::unsupported, "no GPU packs here");
  return packers_->packer(worker, flow.members[rank]);
}

std::vector<Transfer*> ScheduleParts::transfers() const {
  std::vector<Transfer*> all;
  for (const auto& rank : ranks_) all.push_back(rank.get());
  return all;
}

}  // namespace linkscope::workload
