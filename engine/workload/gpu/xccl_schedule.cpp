#include "workload/gpu/xccl_schedule.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "backend/gpu/call/call_transfer.hpp"
#include "base/error.hpp"
#include "workload/gpu/local_rank.hpp"
#include "workload/gpu/xccl_transport.hpp"

namespace linkscope::workload {
namespace {

/// Those of this process.
class XcclScheduleParts final : public ScheduleParts {
 public:
  XcclScheduleParts(std::shared_ptr<xccl::XcclContext> context, const Flow& flow, std::vector<LocalRank> own)
      : ScheduleParts(flow.schedule), context_(std::move(context)), flow_(flow), own_(std::move(own)) {}

  [[nodiscard]] std::string export_handles() override {
    const bool has_first = !own_.empty() && own_.front().context.rank == 0;
    return has_first ? xccl::text_of(context_->communicators().export_handles()) : std::string();
  }

  void import_handles(const std::vector<std::string>& exports) override {
    context_->communicators().next_wish();
    if (own_.empty()) return;
    xccl::RankDevices members;
    for (const Endpoint& member : flow_.members) members.push_back({member.rank, member.device.index});
    const xccl::UniqueId id = xccl::read_id(exports.at(static_cast<std::size_t>(members.front().rank)));
    const int process = members[static_cast<std::size_t>(own_.front().context.rank)].rank;
    const auto ranks = std::make_shared<XcclRanks>();
    ranks->communicator = context_->communicators().lease(members, process, id);
    for (LocalRank& one : own_) connect(one, ranks);
    own_.clear();
  }

 private:
  void connect(LocalRank& own, const std::shared_ptr<XcclRanks>& ranks) {
    const auto& gpus = context_->gpus();
    const int device = own.packer->device();
    RankThread thread;
    thread.node = gpu::calling_node(*gpus, device);
    thread.notes = {context_->note()};
    thread.prepare = [gpus, device] { gpus->use(device); };
    auto transport = std::make_unique<XcclTransport>(gpus, ranks, *flow_.schedule, own.context.rank,
                                                     own.context.messages->data(), *own.packer);
    add(std::make_unique<ScheduleTransfer>(own.context, std::move(own.packer), std::move(transport),
                                           std::move(thread)));
  }

  std::shared_ptr<xccl::XcclContext> context_;
  Flow flow_;
  std::vector<LocalRank> own_;
};

/// Whether some phase has two messages between the same two ranks.
bool has_parallel_messages(const Schedule& schedule) {
  for (const Loop& loop : schedule.loops) {
    for (const Phase& phase : loop.phases) {
      std::set<std::pair<int, int>> seen;
      for (const ScheduledMessage& message : phase.messages) {
        if (!seen.emplace(message.source, message.destination).second) return true;
      }
    }
  }
  return false;
}

}  // namespace

Support XcclSchedule::supports(const Flow& flow) const {
  if (const Support usual = ScheduleMethod::supports(flow); !usual) return usual;
  std::set<xccl::RankDevice> members;
  for (std::size_t rank = 0; rank < flow.members.size(); ++rank) {
    const Endpoint& member = flow.members[rank];
    if (member.device.kind != DeviceKind::gpu)
      return Support::no("xccl-schedule sends between GPUs' memories, not " + member.device.text() + "'s");
    if (worker_of(flow, rank).device != member.device)
      return Support::no("xccl-schedule: the GPU that packs for rank " + std::to_string(rank) +
                         " must have its messages, as " + member.device.text() + " has");
    if (!members.insert({member.rank, member.device.index}).second)
      return Support::no("a GPU can be one rank only of the library's communicators");
  }
  if (flow.schedule->particles && has_parallel_messages(*flow.schedule))
    return Support::no("xccl-schedule: one message of particles to a rank in each phase");
  return Support::yes();
}

std::unique_ptr<PreparedParts> XcclSchedule::assemble(const Flow& flow,
                                                      const std::vector<LocalPart>& own) const {
  std::vector<LocalRank> ranks;
  for (const LocalPart& part : own) {
    ranks.push_back({context_of(flow, part),
                     packers_->gpu_packer(worker_of(flow, part.index), flow.members[part.index])});
  }
  return std::make_unique<XcclScheduleParts>(context_, flow, std::move(ranks));
}

}  // namespace linkscope::workload
