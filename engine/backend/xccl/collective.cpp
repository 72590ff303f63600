// xccl-collective: which call a collective is, for each of its members.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "backend/xccl/group_calls.hpp"
#include "base/error.hpp"
#include "model/collective.hpp"
#include "model/collective_check.hpp"

namespace linkscope::xccl {
namespace {

constexpr int root = 0;
constexpr Parameter misaligned_parameter =
    integer("misaligned", "bytes off a boundary of 16 at which buffers begin (nccl-tests -u)", 0, 15, 0);

Bytes misaligned_by(const Flow& flow) {
  return static_cast<Bytes>(flow.parameters.number(misaligned_parameter));
}

DataType data_type(ElementType type) {
  constexpr std::array types{DataType::float32, DataType::float16, DataType::bfloat16, DataType::int32};
  return types.at(static_cast<std::size_t>(type));
}

RankDevices members_of(const Flow& flow) {
  RankDevices members;
  for (const Endpoint& member : flow.members) members.push_back({member.rank, member.device.index});
  return members;
}

/// Memory that one member's call reads and writes: in place the input is where the output shall be.
struct CallBuffers {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
};

CallBuffers buffers_of(const CollectiveShape& shape, const LocalPart& part, std::uint64_t turn) {
  const Arenas& arenas = part.arenas;
  const Bytes at = arenas.rotation.at(turn % arenas.rotation.slots);
  if (arenas.destination == nullptr) return {arenas.source->data() + at, nullptr};
  std::byte* const to = arenas.destination->data() + at;
  const int index = static_cast<int>(part.index);
  if (arenas.source == nullptr) return {to + shape.input_offset(index), to + shape.output_offset(index)};
  return {arenas.source->data() + at, to};
}

Bytes block_of(const CollectiveShape& shape) { return shape.bytes / static_cast<Bytes>(shape.members); }

/// All-to-all of libraries that have no call for it.
void send_to_all(const CollectiveShape& shape, const CallSite& site, const CallBuffers& at) {
  const DataType type = data_type(shape.type);
  const std::size_t share = block_of(shape) / shape.element_bytes();
  Group group(site.communicator.library());
  for (int peer = 0; peer < shape.members; ++peer) {
    const Bytes offset = static_cast<Bytes>(peer) * block_of(shape);
    site.check(site.api().send(at.from + offset, share, type, peer, site.comm, site.stream), "ncclSend");
    // NOLINTNEXTLINE(clang-analyzer-core.NullPointerArithm): members of these collectives have both ends
    site.check(site.api().recv(at.to + offset, share, type, peer, site.comm, site.stream), "ncclRecv");
  }
  group.end();
}

/// Makes the call of one member.
void call(const CollectiveShape& shape, const LocalPart& part, const CallSite& site,
          const CallConfig* config) {
  const Api& api = site.api();
  Comm* const comm = site.comm;
  Stream stream = site.stream;
  const CallBuffers at = buffers_of(shape, part, site.turn);
  const DataType type = data_type(shape.type);
  const std::size_t all = shape.bytes / shape.element_bytes();
  const std::size_t share = block_of(shape) / shape.element_bytes();
  constexpr Reduction sum = Reduction::sum;
  switch (shape.kind) {
    case CollectiveKind::all_reduce:
      site.check(api.all_reduce(config, at.from, at.to, all, type, sum, comm, stream), "ncclAllReduce");
      return;
    case CollectiveKind::reduce:
      site.check(api.reduce(config, at.from, at.to, all, type, sum, root, comm, stream), "ncclReduce");
      return;
    case CollectiveKind::broadcast:
      site.check(api.broadcast(config, at.from, at.to, all, type, root, comm, stream), "ncclBroadcast");
      return;
    case CollectiveKind::reduce_scatter:
      site.check(api.reduce_scatter(config, at.from, at.to, share, type, sum, comm, stream),
                 "ncclReduceScatter");
      return;
    case CollectiveKind::all_gather:
      site.check(api.all_gather(config, at.from, at.to, share, type, comm, stream), "ncclAllGather");
      return;
    case CollectiveKind::all_to_all:
      if (api.all_to_all.plain == nullptr) return send_to_all(shape, site, at);
      site.check(api.all_to_all(config, at.from, at.to, share, type, comm, stream), "ncclAlltoAll");
      return;
    case CollectiveKind::barrier:
      throw Error(Fault::unsupported, "xccl has no barrier");
  }
}

/// What NCCL's calls on windows run (2.28 to 2.30): its list of symmetric kernels, and of calls for copy engines.
Expected expected_of(const Flow& flow, CollectiveKind kind) {
  const CallOptions form = CallOptions::of(flow.parameters);
  if (form.registered != Registered::window) return Expected::anything;
  const bool by_copies = kind == CollectiveKind::all_gather || kind == CollectiveKind::all_to_all;
  return form.settings.policy == CtaPolicy::zero && by_copies ? Expected::copy_engines
                                                              : Expected::symmetric_kernel;
}

/// Tells whether there is a kernel for windows, memory that can be one, and a driver that says what ran.
Support supports_window(const Flow& flow, const CollectiveShape& shape) {
  if (!std::all_of(flow.members.begin(), flow.members.end(),
                   [](const Endpoint& member) { return member.traits.by_library; }))
    return Support::no("windows need memory of the library's own allocator: memory xccl");
  if (const std::string unnamed = gpu::vendor::no_kernel_names(); !unnamed.empty())
    return Support::no("registered: window cannot be checked: " + unnamed);
  if (expected_of(flow, shape.kind) == Expected::copy_engines) return Support::yes();
  const bool reduces =
      shape.kind == CollectiveKind::all_reduce || shape.kind == CollectiveKind::reduce_scatter;
  const std::string kind(name_of(shape.kind));
  if (!reduces && shape.kind != CollectiveKind::all_gather)
    return Support::no(
        "NCCL has no symmetric kernel for " + kind +
        (shape.kind == CollectiveKind::all_to_all ? "; policy: zero has copy engines do it" : ""));
  if (reduces && shape.type == ElementType::int32)
    return Support::no("NCCL has no symmetric kernel for " + kind + " of int32");
  return Support::yes();
}

/// Kernels of two communicators wait for one another's blocks where GPUs start them in different orders.
Support supports_beside(const Flow& flow, const Case& wanted) {
  const auto alike = std::count_if(wanted.flows.begin(), wanted.flows.end(),
                                   [&](const Flow& other) { return other.row == flow.row; });
  const bool in_order = wanted.regime.clock == Clock::device &&
                        CallOptions::of(flow.parameters).launch == gpu::LaunchThreads::one_thread;
  if (alike < 2 || in_order) return Support::yes();
  return Support::no(
      "collectives at once need calls in one order on all GPUs: clock device, launch one-thread");
}

std::unique_ptr<PreparedParts> assemble_collective(const std::shared_ptr<XcclContext>& context,
                                                   const Flow& flow, const std::vector<LocalPart>& own) {
  const int namer = flow.members.front().rank;
  if (own.empty()) return std::make_unique<XcclParts>(context, nullptr, namer, false);
  const CollectiveShape shape = CollectiveShape::of(flow);
  const auto calls = std::make_shared<GroupCalls>(context, CallOptions::of(flow.parameters), CallsOfGpu::one);
  const RankDevices members = members_of(flow);
  calls->set_members(members);
  if (shape.kind == CollectiveKind::all_to_all)
    calls->add_note(context->library().api().all_to_all.plain == nullptr ? "by ncclSend and ncclRecv"
                                                                         : "by ncclAlltoAll");
  calls->expect(expected_of(flow, shape.kind));
  TransferFacts facts = calls->facts();
  shape.state_in(facts);
  auto parts = std::make_unique<XcclParts>(context, calls, namer, own.front().index == 0);
  for (LocalPart part : own) {
    part.arenas.rotation.begin = misaligned_by(flow);
    const int index = static_cast<int>(part.index);
    const RankDevice& here = members[part.index];
    calls->add(here, part.arenas, [shape, part, algorithm = calls->form().algorithm](const CallSite& site) {
      const CallConfig config = site.communicator.library().call_config(algorithm);
      call(shape, part, site, algorithm.empty() ? nullptr : &config);
    });
    parts->add(std::make_unique<GroupTransfer>(
        calls, here.device, part.arenas.rotation.slots, facts,
        std::make_unique<CollectiveCheck>(shape, index, part.arenas, shape.output_offset(index))));
  }
  return parts;
}

Support supports_collective(const XcclContext& context, const Flow& flow) {
  const CollectiveShape shape = CollectiveShape::of(flow);
  if (shape.kind == CollectiveKind::barrier)
    return Support::no("xccl has no barrier: a reduction of one element is none");
  if (shape.accumulates() && CallOptions::of(flow.parameters).recorded > 1) {
    return Support::no(
        std::string(name_of(shape.kind)) +
        " in place changes its input: calls of a graph of several cannot be checked; set recorded: 1");
  }
  RankDevices members = members_of(flow);
  if (members.size() < 2) return Support::no("xccl-collective needs two members or more");
  for (const Endpoint& member : flow.members) {
    if (member.device.kind != DeviceKind::gpu)
      return Support::no("xccl-collective works between GPUs' memories, not " + member.device.text() + "'s");
  }
  std::sort(members.begin(), members.end());
  if (std::adjacent_find(members.begin(), members.end()) != members.end())
    return Support::no("a GPU can be one member only of the library's communicators");
  if (misaligned_by(flow) % shape.element_bytes() != 0)
    return Support::no("misaligned: " + std::to_string(misaligned_by(flow)) + " is no whole number of " +
                       std::string(name_of(shape.type)));
  const CallOptions form = CallOptions::of(flow.parameters);
  if (form.registered == Registered::window) {
    if (Support window = supports_window(flow, shape); !window) return window;
  }
  return form.supported_by(context.library());
}

}  // namespace

Method xccl_collective(const std::shared_ptr<XcclContext>& context) {
  return {.spec = {"xccl-collective", "collectives by the vendor's library (NCCL, RCCL)", Quantity::bandwidth,
                   xccl_traits},
          .parameters = {collective_kind, element_type, in_place, form_parameter, recorded_parameter,
                         launch_parameter, collective_registered_parameter, policy_parameter, ctas_parameter,
                         algorithm_parameter, misaligned_parameter},
          .available = [context] { return context->available(); },
          .supports = [context](const Flow& flow) { return supports_collective(*context, flow); },
          .supports_in = supports_beside,
          .footprint = [](const Flow& flow) { return flow.bytes + misaligned_by(flow); },
          .rotation_bytes =
              [context](const Flow& flow) {
                std::vector<DeviceId> gpus;
                for (const Endpoint& member : flow.members) gpus.push_back(member.device);
                return rotation_bytes(*context, flow, gpus);
              },
          .parts = collective_parts,
          .assemble =
              [context](const Flow& flow, const std::vector<LocalPart>& own) {
                return assemble_collective(context, flow, own);
              }};
}

}  // namespace linkscope::xccl
