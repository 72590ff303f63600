// Workspaces, addresses and what all members agree on.
#include "collective/circle.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "backend/gpu/graph/graph_transfer.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"

namespace linkscope::direct {
namespace {

/// A buffer of this process's as the members' kernels use it.
const Buffer* source_of(const CollectiveShape& shape, const Arenas& arenas) {
  return shape.place == InPlace::in ? arenas.destination : arenas.source;
}

/// Workspaces are whole: one slot.
Rotation rotation_of(const Buffer& buffer) { return {buffer.bytes(), 1}; }

bool in_several_processes(const Flow& flow) {
  return std::any_of(flow.members.begin(), flow.members.end(),
                     [&](const Endpoint& member) { return member.rank != flow.members.front().rank; });
}

/// Whether kernels may work on the members' buffers, as far as the plan says: so all processes offer alike.
bool buffers_may_be_mapped(const Flow& flow) {
  return std::all_of(flow.members.begin(), flow.members.end(),
                     [](const Endpoint& member) { return static_cast<bool>(gpu::has_ipc_handle(member)); });
}

const gpu::IpcOffer& present(const std::optional<gpu::IpcOffer>& offer, int member) {
  if (offer) return *offer;
  throw Error(Fault::broken, "member " + std::to_string(member) + " offered no memory");
}

}  // namespace

Circle::Circle(std::shared_ptr<gpu::Context> context, std::shared_ptr<gpu::IpcMappings> mappings,
               std::shared_ptr<RetiredSpaces> retired, Flow flow, std::vector<OwnPart> own)
    : context_(std::move(context)),
      mappings_(std::move(mappings)),
      retired_(std::move(retired)),
      flow_(std::move(flow)),
      shape_(CollectiveShape::of(flow_)),
      form_(Form::of(flow_.parameters)),
      own_(std::move(own)) {
  const Bytes staging = staging_bytes(shape_, flow_.parameters);
  retired_->clear();
  retired_->reserve(own_.size());  // so that retiring does not throw
  for (const OwnPart& part : own_) {
    const Endpoint& member = flow_.members.at(part.index);
    if (const Support here = context_->reachable(member.device.index, member); !here)
      throw Error(Fault::unsupported, here.reason());
    spaces_.emplace_back(context_, member.device.index, staging);
  }
}

Circle::~Circle() {
  members_.clear();
  std::move(spaces_.begin(), spaces_.end(), std::back_inserter(*retired_));
}

std::vector<Transfer*> Circle::transfers() const {
  std::vector<Transfer*> all;
  for (const auto& member : members_) all.push_back(member.get());
  return all;
}

std::string Circle::offer() {
  if (!in_several_processes(flow_)) return {};
  const bool with_buffers = buffers_may_be_mapped(flow_);
  std::vector<MemberOffer> offers;
  for (std::size_t i = 0; i < own_.size(); ++i) {
    const Arenas& arenas = own_[i].arenas;
    MemberOffer one;
    one.index = static_cast<int>(own_[i].index);
    one.multiprocessors = context_->device(spaces_[i].device()).multiprocessors;
    one.programmatic = starts_programmatically(spaces_[i].device());
    one.workspace = gpu::IpcOffer::of(*context_, spaces_[i].buffer(), rotation_of(spaces_[i].buffer()));
    const Buffer* source = source_of(shape_, arenas);
    if (with_buffers && source != nullptr)
      one.source = gpu::IpcOffer::of(*context_, *source, arenas.rotation);
    if (with_buffers && arenas.destination != nullptr)
      one.destination = gpu::IpcOffer::of(*context_, *arenas.destination, arenas.rotation);
    offers.push_back(one);
  }
  return text_of(offers);
}

int Circle::own_rank() const { return flow_.members.at(own_.front().index).rank; }

std::vector<Circle::Seat> Circle::seats(const std::vector<std::string>& offers) const {
  std::vector<Seat> all(flow_.members.size());
  for (std::size_t i = 0; i < own_.size(); ++i) {
    Seat& seat = all.at(own_[i].index);
    seat.own = &own_[i];
    seat.space = &spaces_[i];
    seat.device = spaces_[i].device();
    seat.multiprocessors = context_->device(seat.device).multiprocessors;
    seat.programmatic = starts_programmatically(seat.device);
  }
  for (std::size_t rank = 0; rank < offers.size(); ++rank) {
    if (static_cast<int>(rank) == own_rank() || offers[rank].empty()) continue;
    for (const MemberOffer& offer : read_offers(offers[rank])) {
      Seat& seat = all.at(static_cast<std::size_t>(offer.index));
      const gpu::IpcOffer& workspace = present(offer.workspace, offer.index);
      if (const Support usable = workspace.usable(*context_, rotation_of(spaces_.front().buffer())); !usable)
        throw Error(Fault::unsupported, usable.reason());
      seat.device = workspace.device(*context_).index;
      seat.multiprocessors = offer.multiprocessors;
      seat.programmatic = offer.programmatic;
      seat.offer = offer;
    }
  }
  return all;
}

int Circle::sharing(const std::vector<Seat>& seats) {
  std::ptrdiff_t most = 1;
  for (const Seat& seat : seats) {
    most = std::max(most, std::count_if(seats.begin(), seats.end(),
                                        [&](const Seat& other) { return other.device == seat.device; }));
  }
  return static_cast<int>(most);
}

bool Circle::starts_programmatically(int device) const {
  context_->use(device);
  return gpu::vendor::no_programmatic_start(device, push_kernel(shape_.type, Trial::off)).empty();
}

bool Circle::lines_arrive(const std::vector<Seat>& seats) const {
  if (!gpu::vendor::lines_arrive_whole) return false;
  for (const Seat& from : seats) {
    for (const Seat& to : seats) {
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

bool Circle::peers_reach(const std::vector<Seat>& seats) const {
  if (in_several_processes(flow_)) return buffers_may_be_mapped(flow_);
  for (const Seat& seat : seats) {
    for (const Endpoint& member : flow_.members) {
      if (!context_->reachable(seat.device, member)) return false;
    }
  }
  return true;
}

Room Circle::room(const std::vector<Seat>& seats) const {
  int fewest = seats.front().multiprocessors;
  for (const Seat& seat : seats) fewest = std::min(fewest, seat.multiprocessors);
  Room room;
  room.most_blocks = std::clamp(static_cast<unsigned>(fewest / sharing(seats)), 1U, most_blocks);
  room.lines = lines_arrive(seats);
  room.peers = peers_reach(seats);
  room.programmatic =
      std::all_of(seats.begin(), seats.end(), [](const Seat& seat) { return seat.programmatic; });
  room.shared = sharing(seats) > 1;
  return room;
}

std::byte* Circle::reach(int device, const Buffer& buffer) {
  return held_.emplace_back(context_->reach(device, buffer)).address;
}

std::byte* Circle::reach(int device, const gpu::IpcOffer& offer, int rank) {
  return mapped_.emplace_back(mappings_->open(device, offer, rank))->data();
}

/// Everybody's memory as kernels of `device` reach it, for member `me`; the others' buffers where `room` has peers.
Reached Circle::reach(int device, int me, const std::vector<Seat>& seats, const Room& room) {
  Reached reached;
  reached.party.members = shape_.members;
  reached.party.me = me;
  for (int member = 0; member < shape_.members; ++member) {
    const Seat& seat = seats[static_cast<std::size_t>(member)];
    const int rank = flow_.members[static_cast<std::size_t>(member)].rank;
    const std::byte* source = nullptr;
    std::byte* destination = nullptr;
    const bool wanted = room.peers || member == me;
    if (seat.own != nullptr) {
      reached.party.workspaces[member] = reach(device, seat.space->buffer());
      const Buffer* from = source_of(shape_, seat.own->arenas);
      if (wanted && from != nullptr) source = reach(device, *from);
      if (wanted && seat.own->arenas.destination != nullptr)
        destination = reach(device, *seat.own->arenas.destination);
    } else {
      reached.party.workspaces[member] = reach(device, present(seat.offer.workspace, member), rank);
      if (wanted && seat.offer.source) source = reach(device, *seat.offer.source, rank);
      if (wanted && seat.offer.destination) destination = reach(device, *seat.offer.destination, rank);
    }
    reached.sources.push_back(source);
    reached.destinations.push_back(destination);
  }
  return reached;
}

void Circle::connect(const std::vector<std::string>& offers) {
  const std::vector<Seat> all = seats(offers);
  const Room common = room(all);
  auto agreement = std::make_shared<Agreement>();
  agreement->shape = shape_;
  agreement->form = form_;
  agreement->room = common;
  agreement->choices = choices_for(shape_, common, flow_.parameters);
  for (std::size_t member = 0; member < flow_.members.size(); ++member) {
    const Endpoint& where = flow_.members[member];
    const std::string process = in_several_processes(flow_) ? " of rank " + std::to_string(where.rank) : "";
    agreement->names.push_back("member " + std::to_string(member) + " (" + where.device.text() + process +
                               ")");
  }
  for (std::size_t i = 0; i < own_.size(); ++i) {
    const int me = static_cast<int>(own_[i].index);
    Reached reached = reach(spaces_[i].device(), me, all, common);
    std::unique_ptr<Transfer> member = std::make_unique<Member>(context_, agreement, me, own_[i].arenas,
                                                                spaces_[i], std::move(reached), sharing(all));
    if (form_.launching == Launching::graph)
      member = gpu::replay_by_graph(context_, std::move(member), form_.recorded);
    members_.push_back(std::move(member));
  }
}

}  // namespace linkscope::direct
