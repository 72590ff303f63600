// xccl: a message's parts, and the calls that all messages of a case make together.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "backend/xccl/group_calls.hpp"
#include "base/error.hpp"
#include "model/copy_check.hpp"
#include "model/flow_part.hpp"

namespace linkscope::xccl {

namespace {

RankDevice member_at(const Endpoint& end) { return {end.rank, end.device.index}; }

/// The group that a message of this role joins: the one that takes messages of the case at hand, or a new one. Throws
/// Error{bad_input} where it has another form.
std::shared_ptr<GroupCalls> group_of(const std::shared_ptr<XcclContext>& context, Role role,
                                     const CallOptions& form) {
  std::weak_ptr<GroupCalls>& taking = context->taking_messages(role);
  std::shared_ptr<GroupCalls> found = taking.lock();
  if (found == nullptr || found->begun())
    taking = found = std::make_shared<GroupCalls>(context, form, CallsOfGpu::group);
  if (found->form() != form)
    throw Error(Fault::bad_input,
                "xccl: the messages of a case go out together: one form, one launch, one registration");
  return found;
}

/// The call of one end.
MakeCall call_of(const Arenas& arenas, Bytes bytes, const RankDevice& peer) {
  return [arenas, bytes, peer](const CallSite& site) {
    const Bytes at = site.turn % arenas.rotation.slots * arenas.rotation.stride;
    const int index = site.communicator.index_of(peer);
    if (arenas.source != nullptr) {
      const std::byte* const from = arenas.source->data() + at;
      site.check(site.api().send(from, bytes, DataType::int8, index, site.comm, site.stream), "ncclSend");
    } else {
      std::byte* const to = arenas.destination->data() + at;
      site.check(site.api().recv(to, bytes, DataType::int8, index, site.comm, site.stream), "ncclRecv");
    }
  };
}

/// All messages of a case share one communicator of all their GPUs, which the sender of the first one names. Every
/// process that takes part in the case prepares all of its messages, in the same order.
std::unique_ptr<PreparedParts> assemble_message(const std::shared_ptr<XcclContext>& context, const Flow& flow,
                                                const std::vector<LocalPart>& own) {
  const std::shared_ptr<GroupCalls> group = group_of(context, flow.role, CallOptions::of(flow.parameters));
  const RankDevice from = member_at(*flow.source);
  const RankDevice to = member_at(*flow.destination);
  RankDevices members = group->members();
  const bool first = members.empty();
  for (const RankDevice& end : {from, to}) {
    const auto place = std::lower_bound(members.begin(), members.end(), end);
    if (place == members.end() || *place != end) members.insert(place, end);
  }
  group->set_members(std::move(members));
  const bool sends = !own.empty() && own.front().index == 0;
  auto parts = std::make_unique<XcclParts>(context, group, first ? std::optional(from.rank) : std::nullopt,
                                           first && sends);
  for (const LocalPart& part : own) {
    const Arenas& arenas = part.arenas;
    const RankDevice& here = part.index == 0 ? from : to;
    group->add(here, arenas, call_of(arenas, flow.bytes, part.index == 0 ? to : from));
    parts->add(std::make_unique<GroupTransfer>(
        group, here.device, arenas.rotation.slots, group->facts(),
        std::make_unique<CopyCheck>(arenas.source, arenas.destination, flow.bytes, arenas.rotation)));
  }
  return parts;
}

Support supports_message(const XcclContext& context, const Flow& flow) {
  if (!flow.source || !flow.destination) return Support::no("xccl needs a source and a destination");
  for (const Endpoint* end : {&*flow.source, &*flow.destination}) {
    if (end->device.kind != DeviceKind::gpu)
      return Support::no("xccl sends between GPUs' memories, not " + end->device.text() + "'s");
  }
  if (member_at(*flow.source) == member_at(*flow.destination))
    return Support::no("xccl sends from one GPU to another, not to itself");
  if (flow.bytes == 0) return Support::no("xccl has no empty messages");
  return CallOptions::of(flow.parameters).supported_by(context.library());
}

}  // namespace

Method xccl_message(const std::shared_ptr<XcclContext>& context) {
  return {.spec = {"xccl", "a message from GPU to GPU by the vendor's library (ncclSend and ncclRecv)",
                   Quantity::bandwidth, xccl_traits},
          .parameters = {form_parameter, recorded_parameter, launch_parameter, registered_parameter},
          .available = [context] { return context->available(); },
          .supports = [context](const Flow& flow) { return supports_message(*context, flow); },
          .rotation_bytes =
              [context](const Flow& flow) {
                return rotation_bytes(*context, flow, {flow.source->device, flow.destination->device});
              },
          .parts = [](const Flow& flow) -> std::vector<FlowPart> {
            const Endpoint& source = *flow.source;
            const Endpoint& destination = *flow.destination;
            return {{source.rank, source.device, source, std::nullopt, Timing::timed},
                    {destination.rank, destination.device, std::nullopt, destination, Timing::timed}};
          },
          .assemble =
              [context](const Flow& flow, const std::vector<LocalPart>& own) {
                return assemble_message(context, flow, own);
              }};
}

}  // namespace linkscope::xccl
