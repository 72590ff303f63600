#include "workload/direct_schedule.hpp"

#include <set>
#include <string>

#include "workload/thread_transport.hpp"

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
  const int ranks = flow.schedule->ranks;
  const auto memory = std::make_shared<const BoardMemory>(RankBoard::bytes(ranks));
  const auto mailboxes = std::make_shared<Mailboxes>(static_cast<std::size_t>(ranks));
  auto parts = std::make_unique<ScheduleParts>(flow.schedule);
  for (const LocalPart& part : own) {
    const int rank = static_cast<int>(part.index);
    parts->add(std::make_unique<ScheduleTransfer>(
        context_of(flow, part), packer_of(flow, part.index),
        std::make_unique<ThreadTransport>(RankBoard(memory, ranks, rank, policy), mailboxes, *flow.schedule,
                                          part.arenas.destination->data()),
        RankThread{worker_of(flow, part.index).device.index,
                   nullptr,
                   nullptr,
                   {"ranks are threads of one process"}}));
  }
  return parts;
}

}  // namespace linkscope::workload
