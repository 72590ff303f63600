#include "backend/modelled/schedule_method.hpp"

#include <cstddef>
#include <numeric>
#include <utility>

#include "backend/modelled/joint_parts.hpp"
#include "backend/modelled/schedule_payload.hpp"
#include "backend/modelled/schedule_play.hpp"
#include "backend/modelled/transfer.hpp"
#include "base/error.hpp"

namespace linkscope::modelled {
namespace {

std::vector<std::string> notes_on(const Flow& flow) {
  if (flow.state.empty()) return {};
  return {
      "packing and unpacking are modelled; launches after a message's first, and what is "
      "allocated, take no time unless the description says so"};
}

}  // namespace

std::map<std::string, std::string> ModelledSchedule::parameters() const {
  std::map<std::string, std::string> known{{"inject", "crash, hang, corrupt or error: a fault to test with"}};
  if (row_.spec.traits.by_mpi)
    known["staging"] = "none (default), or full: whole buffers are copied through host memory";
  return known;
}

Support ModelledSchedule::supports(const Flow& flow) const {
  return ScheduleCosts(*context_, row_, flow).known();
}

Support ModelledSchedule::supports_in(const Flow& /*flow*/, const Case& wanted) const {
  if (wanted.flows.size() == 1) return Support::yes();
  return Support::no("the model plays a schedule by itself");
}

std::vector<FlowPart> ModelledSchedule::parts(const Flow& flow) const {
  const PairBuffers buffers(*flow.schedule);
  std::vector<FlowPart> parts;
  for (int rank = 0; rank < flow.schedule->ranks; ++rank) {
    const Endpoint& member = flow.members.at(static_cast<std::size_t>(rank));
    parts.push_back({member.rank, member.device, member, member, Timing::timed, buffers.sent_by(rank),
                     buffers.received_by(rank)});
  }
  return parts;
}

std::unique_ptr<PreparedParts> ModelledSchedule::assemble(const Flow& flow,
                                                          const std::vector<LocalPart>& own) const {
  const ScheduleCosts costs(*context_, row_, flow);
  std::vector<Breakdown> ranks = play_schedule(costs, *flow.schedule, context_->capacities());
  const Seconds all = std::accumulate(ranks.front().phases.begin(), ranks.front().phases.end(), 0.0);
  if (!(all > 0)) throw Error(Fault::unsupported, "nothing in the schedule takes time");
  std::vector<Arenas> arenas;
  for (const LocalPart& part : own) arenas.push_back(part.arenas);
  const auto payload =
      std::make_shared<const SchedulePayload>(PairBuffers(*flow.schedule), std::move(arenas));
  LaneWork work;
  work.latency = all;
  work.role = flow.role;
  auto members = std::make_unique<JointParts>();
  for (std::size_t i = 0; i < own.size(); ++i) {
    const Injection injection = i == 0 ? injection_of(flow) : Injection::none;
    auto transfer = std::make_unique<ModelledTransfer>(
        work, 1, make_rank_payload(payload, static_cast<int>(i)), injection);
    transfer->tells(std::move(ranks.at(i)), notes_on(flow));
    members->add(std::move(transfer));
  }
  return members;
}

std::unique_ptr<Transfer> ModelledSchedule::prepare(const Flow& flow, const Arenas& /*arenas*/) const {
  throw Error(Fault::unsupported, flow.method + " is made ready for all its ranks together");
}

}  // namespace linkscope::modelled
