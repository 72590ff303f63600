#include "workload/direct_schedule.hpp"

#include <set>
#include <string>
#include <vector>

#include "workload/direct_transport.hpp"

namespace linkscope::workload {
namespace {

constexpr std::size_t most_ranks = 1024;  // each has words for each other

}  // namespace

Support HostDirectSchedule::supports(const Flow& flow) const {
  if (const Support usual = ScheduleMethod::supports(flow); !usual) return usual;
  if (flow.members.size() > most_ranks)
    return Support::no("direct-schedule has at most " + std::to_string(most_ranks) + " ranks in one process");
  for (std::size_t rank = 0; rank < flow.members.size(); ++rank) {
    if (flow.members[rank].rank != flow.members.front().rank)
      return Support::no("direct-schedule of host memory has all ranks in one process");
    const Endpoint& worker = worker_of(flow, rank);
    if (worker.device.kind != DeviceKind::numa) return Support::no(worker.device.text() + " is no CPU");
    if (const Support can = context_->can_execute(worker.device); !can) return can;
  }
  return Support::yes();
}

std::unique_ptr<PreparedParts> HostDirectSchedule::assemble(const Flow& flow,
                                                            const std::vector<LocalPart>& own) const {
  std::set<int> cpus;
  for (const LocalPart& part : own) {
    for (const int cpu : context_->workers(worker_of(flow, part.index).device.index).cpus()) cpus.insert(cpu);
  }
  const auto policy = cpus.size() < own.size() ? host::SpinPolicy::yield : host::SpinPolicy::spin_first;
  const auto board = std::make_shared<const BoardMemory>(flow.schedule->ranks);
  const std::vector<MessageSlots> slots = slots_of_ranks(*flow.schedule);
  std::vector<std::byte*> bases;
  for (const LocalPart& part : own) bases.push_back(part.arenas.destination->data());
  auto parts = std::make_unique<ScheduleParts>(flow.schedule);
  for (const LocalPart& part : own) {
    const int rank = static_cast<int>(part.index);
    auto packer = packer_of(flow, part.index);
    auto transport =
        std::make_unique<DirectTransport>(RankBoard(board, rank, policy), *flow.schedule, MessageOrder::host,
                                          *packer, local_peers(slots, rank, bases));
    RankThread thread{.node = worker_of(flow, part.index).device.index,
                      .notes = {"ranks are threads of one process"}};
    parts->add(std::make_unique<ScheduleTransfer>(context_of(flow, part), std::move(packer),
                                                  std::move(transport), std::move(thread)));
  }
  return parts;
}

}  // namespace linkscope::workload
