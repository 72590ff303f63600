// Which flows direct-collective supports; workspaces, addresses and what all members agree on.
#include "collective/direct_collective.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "backend/gpu/graph/forms.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"
#include "base/pack.hpp"
#include "collective/launch_choice.hpp"
#include "model/collective.hpp"

namespace linkscope::direct {
namespace {

/// A buffer of this process's as the members' kernels use it.
const Buffer* source_of(const CollectiveShape& shape, const Arenas& arenas) {
  return shape.place == InPlace::in ? arenas.destination : arenas.source;
}

/// Workspaces are whole: one slot.
Rotation rotation_of(const Buffer& buffer) { return {buffer.bytes(), 1}; }

/// Says whether kernels may work on the members' buffers, as far as the plan says: so all processes export alike.
bool buffers_may_be_mapped(const Flow& flow) {
  return std::all_of(flow.members.begin(), flow.members.end(),
                     [](const Endpoint& member) { return static_cast<bool>(gpu::has_ipc_handle(member)); });
}

/// Returns the handle as bytes, none of no buffer.
std::string handle_of(gpu::GpuContext& context, const Buffer* buffer, const Rotation& rotation) {
  return buffer == nullptr ? std::string() : gpu::IpcExport::of(context, *buffer, rotation).text();
}

std::optional<gpu::IpcExport> read_handle(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return gpu::IpcExport::read(text);
}

/// The same in every process: DirectCommunicator decides what depends on the GPUs that a process sees.
Support supports(const Flow& flow) {
  const CollectiveShape shape = CollectiveShape::of(flow);
  const DirectOptions options = DirectOptions::of(flow.parameters);
  if (shape.members < 2 || shape.members > most_members) {
    return Support::no("direct-collective has 2 to " + std::to_string(most_members) + " members, not " +
                       std::to_string(shape.members));
  }
  for (const Endpoint& member : flow.members) {
    if (member.device.kind != DeviceKind::gpu)
      return Support::no(member.device.text() + " is not a GPU: its kernels carry out the collective");
  }
  if (shape.accumulates() && shape.kind != CollectiveKind::all_reduce)
    return Support::no("direct-collective has no " + std::string(name_of(shape.kind)) +
                       " in place: members may overwrite what others have yet to load");
  if (shape.accumulates() && options.recorded > 1)
    return Support::no(
        "all-reduce in place changes its input: calls of a graph of several cannot be checked; set "
        "recorded: 1");
  const auto algorithm = named_algorithm(flow.parameters);
  if (!algorithm) return Support::yes();
  std::string reason = no_such(shape, *algorithm);
  return reason.empty() ? Support::yes() : Support::no(std::move(reason));
}

}  // namespace

DirectCommunicator::DirectCommunicator(std::shared_ptr<gpu::GpuContext> context,
                                       std::shared_ptr<gpu::IpcMappings> mappings,
                                       std::shared_ptr<RetiredWorkspaces> retired, Flow flow,
                                       std::vector<LocalPart> own, const StressOptions& stress)
    : context_(std::move(context)),
      mappings_(std::move(mappings)),
      retired_(std::move(retired)),
      flow_(std::move(flow)),
      shape_(CollectiveShape::of(flow_)),
      form_(DirectOptions::of(flow_.parameters)),
      stress_(stress),
      own_(std::move(own)) {
  const Bytes staging = staging_bytes(shape_, flow_.parameters);
  retired_->reserve(retired_->size() + own_.size());  // so that retiring does not throw
  for (const LocalPart& part : own_) {
    const Endpoint& member = flow_.members.at(part.index);
    if (const Support here = context_->reachable(member.device.index, member); !here)
      throw Error(Fault::unsupported, here.reason());
    spaces_.emplace_back(context_, member.device.index, staging);
  }
}

DirectCommunicator::~DirectCommunicator() {
  members_.clear();
  if (in_several_processes(flow_)) std::move(spaces_.begin(), spaces_.end(), std::back_inserter(*retired_));
}

std::vector<Transfer*> DirectCommunicator::transfers() const {
  std::vector<Transfer*> all;
  for (const auto& member : members_) all.push_back(member.get());
  return all;
}

std::string DirectCommunicator::export_handles() {
  if (!in_several_processes(flow_)) return {};
  const bool with_buffers = buffers_may_be_mapped(flow_);
  Pack pack;
  pack.put<std::uint64_t>(own_.size());
  for (std::size_t i = 0; i < own_.size(); ++i) {
    const Arenas& arenas = own_[i].arenas;
    const Buffer& space = spaces_[i].buffer();
    const Buffer* source = with_buffers ? source_of(shape_, arenas) : nullptr;
    const Buffer* destination = with_buffers ? arenas.destination : nullptr;
    pack.put<std::int32_t>(static_cast<int>(own_[i].index));
    pack.put<std::int32_t>(context_->device(spaces_[i].device()).multiprocessors);
    pack.put<std::int32_t>(starts_programmatically(spaces_[i].device()) ? 1 : 0);
    pack.text(handle_of(*context_, &space, rotation_of(space)));
    pack.text(handle_of(*context_, source, arenas.rotation));
    pack.text(handle_of(*context_, destination, arenas.rotation));
  }
  return pack.bytes();
}

int DirectCommunicator::own_rank() const { return flow_.members.at(own_.front().index).rank; }

std::vector<DirectCommunicator::PeerInfo> DirectCommunicator::peer_infos(
    const std::vector<std::string>& exports) const {
  std::vector<PeerInfo> all(flow_.members.size());
  for (std::size_t i = 0; i < own_.size(); ++i) {
    PeerInfo& peer_info = all.at(own_[i].index);
    peer_info.own = &own_[i];
    peer_info.space = &spaces_[i];
    peer_info.device = spaces_[i].device();
    peer_info.multiprocessors = context_->device(peer_info.device).multiprocessors;
    peer_info.programmatic = starts_programmatically(peer_info.device);
  }
  for (std::size_t rank = 0; rank < exports.size(); ++rank) {
    if (static_cast<int>(rank) == own_rank() || exports[rank].empty()) continue;
    Unpack unpack(exports[rank], "rank " + std::to_string(rank) + " sent no members");
    for (std::size_t left = unpack.count(); left > 0; --left) {
      const auto member = static_cast<std::size_t>(unpack.number(0, shape_.members - 1));
      if (std::cmp_not_equal(flow_.members[member].rank, rank))
        throw Error(Fault::broken, "rank " + std::to_string(rank) + " sent member " + std::to_string(member) +
                                       ", which is another's");
      PeerInfo& peer_info = all[member];
      peer_info.multiprocessors = unpack.number(1);
      peer_info.programmatic = unpack.number(0, 1) == 1;
      peer_info.workspace = gpu::IpcExport::read(unpack.text());
      peer_info.source = read_handle(unpack.text());
      peer_info.destination = read_handle(unpack.text());
      if (const Support usable =
              peer_info.workspace->usable(*context_, rotation_of(spaces_.front().buffer()));
          !usable)
        throw Error(Fault::unsupported, usable.reason());
      peer_info.device = peer_info.workspace->device(*context_).index;
    }
    unpack.end();
  }
  for (std::size_t member = 0; member < all.size(); ++member) {
    if (all[member].own == nullptr && !all[member].workspace)
      throw Error(Fault::broken, "no process sent member " + std::to_string(member));
  }
  return all;
}

int DirectCommunicator::sharing(const std::vector<PeerInfo>& peer_infos) {
  std::ptrdiff_t most = 1;
  for (const PeerInfo& peer_info : peer_infos) {
    most = std::max(most, std::count_if(peer_infos.begin(), peer_infos.end(), [&](const PeerInfo& other) {
                      return other.device == peer_info.device;
                    }));
  }
  return static_cast<int>(most);
}

bool DirectCommunicator::starts_programmatically(int device) const {
  context_->use(device);
  return gpu::vendor::no_programmatic_start(device, push_kernel(shape_.type)).empty();
}

bool DirectCommunicator::lines_arrive(const std::vector<PeerInfo>& peer_infos) const {
  if (!gpu::vendor::lines_arrive_whole) return false;
  for (const PeerInfo& from : peer_infos) {
    for (const PeerInfo& to : peer_infos) {
      if (from.device == to.device) continue;
      int native = 0;  // what NVLink has and PCIe has not
      if (gpuDeviceGetP2PAttribute(&native, gpuP2PNativeAtomics, from.device, to.device) != gpuSuccess ||
          native == 0) {
        static_cast<void>(gpuGetLastError());
        return false;
      }
    }
  }
  return true;
}

bool DirectCommunicator::peers_reach(const std::vector<PeerInfo>& peer_infos) const {
  if (in_several_processes(flow_)) return buffers_may_be_mapped(flow_);
  for (const PeerInfo& peer_info : peer_infos) {
    for (const Endpoint& member : flow_.members) {
      if (!context_->reachable(peer_info.device, member)) return false;
    }
  }
  return true;
}

DeviceLimits DirectCommunicator::device_limits(const std::vector<PeerInfo>& peer_infos) const {
  int fewest = peer_infos.front().multiprocessors;
  for (const PeerInfo& peer_info : peer_infos) fewest = std::min(fewest, peer_info.multiprocessors);
  DeviceLimits limits;
  limits.most_blocks = std::clamp(static_cast<unsigned>(fewest / sharing(peer_infos)), 1U, most_blocks);
  limits.lines = lines_arrive(peer_infos);
  limits.peers = peers_reach(peer_infos);
  limits.programmatic = std::all_of(peer_infos.begin(), peer_infos.end(),
                                    [](const PeerInfo& peer_info) { return peer_info.programmatic; });
  limits.shared = sharing(peer_infos) > 1;
  return limits;
}

std::byte* DirectCommunicator::reach(int device, const Buffer& buffer) {
  return held_.emplace_back(context_->reach(device, buffer)).address;
}

std::byte* DirectCommunicator::reach(int device, const gpu::IpcExport& exported, int rank) {
  return mapped_.emplace_back(mappings_->open(device, exported, rank))->data();
}

/// Returns everybody's memory as kernels of `device` reach it, for member `me`; the others' buffers only where
/// `limits` has peers.
PeerBuffers DirectCommunicator::reach(int device, int me, const std::vector<PeerInfo>& peer_infos,
                                      const DeviceLimits& limits) {
  PeerBuffers peer_buffers;
  peer_buffers.peers.members = shape_.members;
  peer_buffers.peers.me = me;
  for (int member = 0; member < shape_.members; ++member) {
    const PeerInfo& peer_info = peer_infos[static_cast<std::size_t>(member)];
    const int rank = flow_.members[static_cast<std::size_t>(member)].rank;
    const std::byte* source = nullptr;
    std::byte* destination = nullptr;
    const bool wanted = limits.peers || member == me;
    if (peer_info.own != nullptr) {
      peer_buffers.peers.workspaces[member] = reach(device, peer_info.space->buffer());
      const Buffer* from = source_of(shape_, peer_info.own->arenas);
      if (wanted && from != nullptr) source = reach(device, *from);
      if (wanted && peer_info.own->arenas.destination != nullptr)
        destination = reach(device, *peer_info.own->arenas.destination);
    } else {
      peer_buffers.peers.workspaces[member] = reach(device, *peer_info.workspace, rank);
      if (wanted && peer_info.source) source = reach(device, *peer_info.source, rank);
      if (wanted && peer_info.destination) destination = reach(device, *peer_info.destination, rank);
    }
    peer_buffers.sources.push_back(source);
    peer_buffers.destinations.push_back(destination);
  }
  return peer_buffers;
}

void DirectCommunicator::import_handles(const std::vector<std::string>& exports) {
  const std::vector<PeerInfo> all = peer_infos(exports);
  const DeviceLimits common = device_limits(all);
  auto plan = std::make_shared<CollectivePlan>();
  plan->shape = shape_;
  plan->form = form_;
  plan->stress = stress_;
  plan->limits = common;
  plan->choices = choices_for(shape_, common, flow_.parameters);
  for (std::size_t member = 0; member < flow_.members.size(); ++member) {
    const Endpoint& where = flow_.members[member];
    const std::string process = in_several_processes(flow_) ? " of rank " + std::to_string(where.rank) : "";
    plan->names.push_back("member " + std::to_string(member) + " (" + where.device.text() + process + ")");
  }
  for (std::size_t i = 0; i < own_.size(); ++i) {
    const int me = static_cast<int>(own_[i].index);
    PeerBuffers peer_buffers = reach(spaces_[i].device(), me, all, common);
    std::unique_ptr<Transfer> member = std::make_unique<DirectTransfer>(
        context_, plan, me, own_[i].arenas, spaces_[i], std::move(peer_buffers), sharing(all));
    if (form_.launching == LaunchMode::graph)
      member = gpu::replay_by_graph(context_, std::move(member), form_.recorded);
    members_.push_back(std::move(member));
  }
}

std::unique_ptr<PreparedParts> DirectAssembler::operator()(const Flow& flow,
                                                           const std::vector<LocalPart>& own) const {
  if (own.empty()) return std::make_unique<PreparedParts>();
  return std::make_unique<DirectCommunicator>(gpus, mappings, retired, flow, own, stress);
}

Method direct_collective(const DirectAssembler& assembler) {
  Method row{
      .spec = {"direct-collective",
               "collectives by kernels that load from and store to the other GPUs' memory, one on each GPU",
               Quantity::bandwidth,
               {.maps_members = true}},
      .parameters = collective_parameters()};
  row.parameters.insert(row.parameters.end(),
                        {parameter::form, parameter::recorded, parameter::algorithm, parameter::blocks,
                         parameter::threads, parameter::chunk, parameter::dependent_launch});
  row.available = [gpus = assembler.gpus] { return gpus->available(); };
  row.supports = supports;
  row.quantity_of = [](const Flow& flow) {
    const auto kind = flow.parameters.choice<CollectiveKind>(collective_kind);
    return kind == CollectiveKind::barrier ? Quantity::latency : Quantity::bandwidth;
  };
  row.parts = collective_parts;
  row.assemble = assembler;
  return row;
}

}  // namespace linkscope::direct
