#include "backend/modelled/collective_method.hpp"

#include <algorithm>
#include <utility>

#include "backend/modelled/collective_payload.hpp"
#include "backend/modelled/joint_parts.hpp"
#include "backend/modelled/transfer.hpp"
#include "base/error.hpp"

namespace linkscope::modelled {
namespace {

using Kind = CollectiveKind;

}  // namespace

int steps_of(CollectiveKind kind, BlockSchedule schedule, int members) {
  const bool two_rounds = kind == Kind::all_reduce;
  const bool rooted = kind == Kind::broadcast || kind == Kind::reduce;
  if (kind == Kind::all_to_all) return 1;
  if (schedule == BlockSchedule::pairs) return two_rounds || rooted ? 2 : 1;
  return two_rounds ? 2 * (members - 1) : members - 1;
}

Quantity ModelledCollective::quantity_of(const Flow& flow) const {
  return flow.bytes == 0 ? Quantity::latency : Quantity::bandwidth;
}

std::map<std::string, std::string> ModelledCollective::parameters() const {
  return {{"collective",
           "all-reduce (default), reduce, broadcast, reduce-scatter, all-gather, all-to-all, barrier"},
          {"type", "float32 (default), float16, bfloat16, int32: makes no difference to the model"},
          {"form", "accepted; makes no difference to the model"},
          {"recorded", "accepted; makes no difference to the model"},
          {"launch", "accepted; makes no difference to the model"},
          {"in_place", "no (default) or yes: makes no difference to the model"}};
}

Support ModelledCollective::supports(const Flow& flow) const {
  const std::string own(name());
  if (context_->figures(flow) == nullptr)
    return Support::no("the description of " + context_->machine().name + " has no figures for " + own);
  for (const Endpoint& member : flow.members) {
    if (context_->device(member.device) == nullptr)
      return Support::no(context_->machine().name + " has no " + member.device.text());
    if (row_.driver == Driver::gpu && member.device.kind != DeviceKind::gpu)
      return Support::no(own + " has no member on " + member.device.text());
  }
  const CollectiveShape shape = CollectiveShape::of(flow);
  if (shape.members < 2) return Support::no("a collective needs two members");
  for (const BlockTransfer& passage : passages(shape, flow)) {
    if (const Support answer = supports_pair(passage.from, passage.to); !answer) return answer;
  }
  if (latency(shape, flow) <= 0 && flow.bytes == 0)
    return Support::no("the description of " + context_->machine().name + " gives " + own + " no latency");
  return Support::yes();
}

Support ModelledCollective::supports_pair(DeviceId from, DeviceId to) const {
  if (row_.schedule == BlockSchedule::pairs && !context_->peers(from, to))
    return Support::no(from.text() + " has no peer access to " + to.text());
  const auto route = context_->route(from, to);
  if (!route) return Support::no("the plan gives no route from " + from.text() + " to " + to.text());
  for (const std::string& link : *route) {
    if (context_->link(link) == nullptr)
      return Support::no(context_->machine().name + " has no link " + link);
  }
  return Support::yes();
}

/// Around a ring a round passes n - 1 of n blocks over every pair of neighbours, an all-reduce two rounds; what has a
/// root goes along a chain. In pairs a round passes one block between any two; what has a root is cut into a block for
/// each other member, which then shares it with the rest.
std::vector<ModelledCollective::BlockTransfer> ModelledCollective::passages(const CollectiveShape& shape,
                                                                            const Flow& flow) const {
  const int n = shape.members;
  const bool rooted = shape.kind == Kind::broadcast || shape.kind == Kind::reduce;
  const double block = 1.0 / (rooted ? n - 1 : n);
  const double rounds = shape.kind == Kind::all_reduce ? 2 : 1;
  const bool ring = row_.schedule == BlockSchedule::ring && shape.kind != Kind::all_to_all;
  std::vector<BlockTransfer> found;
  const auto add = [&](int from, int to, double share) {
    if (shape.kind == Kind::reduce) std::swap(from, to);
    found.push_back({flow.members[static_cast<std::size_t>(from)].device,
                     flow.members[static_cast<std::size_t>(to)].device, share});
  };
  for (int from = 0; from < n; ++from) {
    if (ring) {
      const int to = from + 1 == n ? 0 : from + 1;
      if (!rooted || to != 0) add(from, to, rooted ? 1 : rounds * (n - 1) * block);
      continue;
    }
    for (int to = rooted ? 1 : 0; to < n; ++to) {
      if (to != from) add(from, to, rounds * block);
    }
  }
  return found;
}

std::vector<std::string> ModelledCollective::route(const BlockTransfer& passage) const {
  return context_->route(passage.from, passage.to).value();
}

Seconds ModelledCollective::latency(const CollectiveShape& shape, const Flow& flow) const {
  const MethodFigures& figures = *context_->figures(flow);
  double longest_ns = 0;
  for (const BlockTransfer& passage : passages(shape, flow)) {
    double links_ns = 0;
    for (const std::string& link : route(passage)) links_ns += context_->link(link)->latency_ns.value_or(0);
    longest_ns = std::max(longest_ns, links_ns);
  }
  return (figures.latency_us * 1e3 +
          steps_of(shape.kind, row_.schedule, shape.members) * (figures.step_us * 1e3 + longest_ns)) *
         1e-9;
}

BandwidthDemand ModelledCollective::demand(const CollectiveShape& shape, const Flow& flow) const {
  const MethodFigures& figures = *context_->figures(flow);
  BandwidthDemand demand;
  for (const BlockTransfer& passage : passages(shape, flow)) {
    const double weight = passage.share / figures.efficiency / shape.members;
    for (const std::string& link : route(passage))
      demand.uses.push_back({context_->resource_of(link), weight});
    demand.uses.push_back({context_->memory_of(passage.from), weight});
    demand.uses.push_back({context_->memory_of(passage.to), weight});
  }
  demand.ceiling = figures.ceiling_gbps * 1e9;
  return demand;
}

std::unique_ptr<PreparedParts> ModelledCollective::assemble(const Flow& flow,
                                                            const std::vector<LocalPart>& own) const {
  const CollectiveShape shape = CollectiveShape::of(flow);
  std::vector<Arenas> arenas;
  for (const LocalPart& part : own) arenas.push_back(part.arenas);
  const auto payload = std::make_shared<CollectivePayload>(shape, std::move(arenas));
  LaneWork work;
  work.latency = latency(shape, flow);
  work.role = flow.role;
  work.bytes = flow.bytes;
  if (flow.bytes > 0) work.demand = demand(shape, flow);
  auto members = std::make_unique<JointParts>();
  for (std::size_t i = 0; i < own.size(); ++i) {
    members->add(std::make_unique<ModelledTransfer>(work, 1, make_share(payload, static_cast<int>(i)),
                                                    Injection::none));
  }
  return members;
}

std::unique_ptr<Transfer> ModelledCollective::prepare(const Flow& flow, const Arenas& /*arenas*/) const {
  throw Error(Fault::unsupported, flow.method + " is made ready for all its members together");
}

}  // namespace linkscope::modelled
