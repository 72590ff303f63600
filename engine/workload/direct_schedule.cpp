// direct-schedule on a host: ranks are threads of one process and store into one another's memory.
#include <set>
#include <string>
#include <vector>

#include "backend/host/context.hpp"
#include "workload/direct_transport.hpp"
#include "workload/methods.hpp"

namespace linkscope::workload {
namespace {

constexpr std::size_t most_ranks = 1024;  // each has words for each other

/// Ranks spin while they wait where each has a CPU of its own.
host::SpinPolicy spin_policy(host::HostContext& context, const Flow& flow, std::size_t ranks) {
  std::set<int> cpus;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (const int cpu : context.workers(worker_of(flow, rank).device.index).cpus()) cpus.insert(cpu);
  }
  return cpus.size() < ranks ? host::SpinPolicy::yield : host::SpinPolicy::spin_first;
}

}  // namespace

Method direct_schedule(const std::shared_ptr<host::HostContext>& context) {
  Method method = schedule_method(direct_schedule_spec, [context](const Flow& flow) {
    if (flow.members.size() > most_ranks)
      return Support::no("direct-schedule has at most " + std::to_string(most_ranks) +
                         " ranks in one process");
    if (in_several_processes(flow))
      return Support::no("direct-schedule of host memory has all ranks in one process");
    for (std::size_t rank = 0; rank < flow.members.size(); ++rank) {
      const DeviceId& device = worker_of(flow, rank).device;
      if (device.kind != DeviceKind::numa) return Support::no(device.text() + " is no CPU");
      if (const Support can = context->can_execute(device); !can) return can;
    }
    return Support::yes();
  });
  method.assemble = [context](const Flow& flow, const std::vector<LocalPart>& own) {
    const host::SpinPolicy policy = spin_policy(*context, flow, own.size());
    const auto board = std::make_shared<const BoardMemory>(flow.schedule->ranks);
    const std::vector<MessageSlots> slots = slots_of_ranks(*flow.schedule);
    std::vector<std::byte*> bases;
    for (const LocalPart& part : own) bases.push_back(part.arenas.destination->data());
    auto parts = std::make_unique<ScheduleParts>();
    for (const LocalPart& part : own) {
      RankContext rank = rank_context(flow, part, {});
      rank.transport = std::make_unique<DirectTransport>(RankBoard(board, rank.rank, policy), *flow.schedule,
                                                         MessageOrder::host, *rank.packer,
                                                         local_peers(slots, rank.rank, bases));
      parts->add(std::move(rank), {.node = worker_of(flow, part.index).device.index,
                                   .notes = {"ranks are threads of one process"}});
    }
    return parts;
  };
  return method;
}

}  // namespace linkscope::workload
