// Which call a collective is, for each of its members.
#include "backend/xccl/collective.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "backend/xccl/group_calls.hpp"
#include "base/error.hpp"
#include "model/collective.hpp"
#include "model/collective_check.hpp"

namespace linkscope::xccl {
namespace {

constexpr int root = 0;

DataType data_type(ElementType type) {
  switch (type) {
    case ElementType::float32:
      return DataType::float32;
    case ElementType::float16:
      return DataType::float16;
    case ElementType::bfloat16:
      return DataType::bfloat16;
    case ElementType::int32:
      return DataType::int32;
  }
  return DataType::float32;
}

RankDevices members_of(const Flow& flow) {
  RankDevices members;
  for (const Endpoint& member : flow.members) members.push_back({member.rank, member.device.index});
  return members;
}

/// The members of one process.
class CollectiveCalls final : public GroupCalls {
 public:
  CollectiveCalls(std::shared_ptr<XcclContext> context, const CallOptions& form, const CollectiveShape& shape,
                  RankDevices members, const std::vector<LocalPart>& own)
      : GroupCalls(std::move(context), form), shape_(shape), members_(std::move(members)) {
    for (const LocalPart& part : own) own_[members_[part.index].device] = part;
  }

  void identify(const UniqueId& id) { id_ = id; }
  [[nodiscard]] std::vector<std::string> notes() const override;
  [[nodiscard]] TransferFacts facts() const override {
    TransferFacts facts = GroupCalls::facts();
    shape_.state_in(facts);
    return facts;
  }

 private:
  [[nodiscard]] std::shared_ptr<Communicator> connect() override {
    const int rank = members_[own_.begin()->second.index].rank;
    return context().communicators().lease(members_, rank, id_);
  }
  [[nodiscard]] std::vector<int> devices() const override {
    std::vector<int> devices;
    for (const auto& [device, part] : own_) devices.push_back(device);
    return devices;
  }
  [[nodiscard]] std::vector<const Buffer*> buffers(int device) const override;
  void call(Communicator& communicator, const gpu::DeviceStream& stream, std::uint64_t turn) override;

  /// Where one member's call reads and writes: in place the input is where the output shall be.
  struct CallBuffers {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
  };
  [[nodiscard]] CallBuffers ends(const LocalPart& part, std::uint64_t turn) const;
  void send_to_all(const XcclLibrary& library, Comm* comm, const CallBuffers& ends, Stream stream) const;
  [[nodiscard]] Bytes block() const { return shape_.bytes / static_cast<Bytes>(shape_.members); }

  CollectiveShape shape_;
  RankDevices members_;
  std::map<int, LocalPart> own_;  ///< by device
  UniqueId id_{};
};

std::vector<const Buffer*> CollectiveCalls::buffers(int device) const {
  const Arenas& arenas = own_.at(device).arenas;
  std::vector<const Buffer*> buffers{arenas.source, arenas.destination};
  std::erase(buffers, nullptr);
  return buffers;
}

CollectiveCalls::CallBuffers CollectiveCalls::ends(const LocalPart& part, std::uint64_t turn) const {
  const Arenas& arenas = part.arenas;
  const Bytes at = turn % arenas.rotation.slots * arenas.rotation.stride;
  if (arenas.destination == nullptr) return {arenas.source->data() + at, nullptr};
  std::byte* const to = arenas.destination->data() + at;
  const int index = static_cast<int>(part.index);
  if (arenas.source == nullptr) return {to + shape_.input_offset(index), to + shape_.output_offset(index)};
  return {arenas.source->data() + at, to};
}

void CollectiveCalls::call(Communicator& communicator, const gpu::DeviceStream& stream, std::uint64_t turn) {
  const XcclLibrary& library = communicator.library();
  const Api& api = library.api();
  Comm* const comm = communicator.handle(stream.device);
  const CallBuffers at = ends(own_.at(stream.device), turn);
  const DataType type = data_type(shape_.type);
  const std::size_t all = shape_.bytes / shape_.element_bytes();
  const std::size_t share = block() / shape_.element_bytes();
  constexpr Reduction sum = Reduction::sum;
  switch (shape_.kind) {
    case CollectiveKind::all_reduce:
      library.check(api.all_reduce(at.from, at.to, all, type, sum, comm, stream.stream), "ncclAllReduce");
      return;
    case CollectiveKind::reduce:
      library.check(api.reduce(at.from, at.to, all, type, sum, root, comm, stream.stream), "ncclReduce");
      return;
    case CollectiveKind::broadcast:
      library.check(api.broadcast(at.from, at.to, all, type, root, comm, stream.stream), "ncclBroadcast");
      return;
    case CollectiveKind::reduce_scatter:
      library.check(api.reduce_scatter(at.from, at.to, share, type, sum, comm, stream.stream),
                    "ncclReduceScatter");
      return;
    case CollectiveKind::all_gather:
      library.check(api.all_gather(at.from, at.to, share, type, comm, stream.stream), "ncclAllGather");
      return;
    case CollectiveKind::all_to_all:
      if (api.all_to_all == nullptr) return send_to_all(library, comm, at, stream.stream);
      library.check(api.all_to_all(at.from, at.to, share, type, comm, stream.stream), "ncclAlltoAll");
      return;
    case CollectiveKind::barrier:
      throw Error(Fault::unsupported, "xccl has no barrier");
  }
}

/// All-to-all of libraries that have no call for it.
void CollectiveCalls::send_to_all(const XcclLibrary& library, Comm* comm, const CallBuffers& ends,
                                  Stream stream) const {
  const DataType type = data_type(shape_.type);
  const std::size_t share = block() / shape_.element_bytes();
  Group group(library);
  for (int peer = 0; peer < shape_.members; ++peer) {
    const Bytes offset = static_cast<Bytes>(peer) * block();
    library.check(library.api().send(ends.from + offset, share, type, peer, comm, stream), "ncclSend");
    library.check(library.api().recv(ends.to + offset, share, type, peer, comm, stream), "ncclRecv");
  }
  group.end();
}

std::vector<std::string> CollectiveCalls::notes() const {
  std::vector<std::string> found = GroupCalls::notes();
  if (shape_.kind == CollectiveKind::all_to_all)
    found.emplace_back(context().library().api().all_to_all == nullptr ? "by ncclSend and ncclRecv"
                                                                       : "by ncclAlltoAll");
  return found;
}

/// One member.
using CollectivePart = CheckedGroupTransfer<CollectiveCheck>;

class XcclCollectiveParts final : public PreparedParts {
 public:
  XcclCollectiveParts(std::shared_ptr<XcclContext> context, const Flow& flow,
                      const std::vector<LocalPart>& own)
      : context_(std::move(context)),
        first_rank_(flow.members.front().rank),
        has_first_(!own.empty() && own.front().index == 0) {
    if (own.empty()) return;
    const CollectiveShape shape = CollectiveShape::of(flow);
    calls_ = std::make_shared<CollectiveCalls>(context_, CallOptions::of(flow.parameters), shape,
                                               members_of(flow), own);
    for (const LocalPart& part : own) {
      const int index = static_cast<int>(part.index);
      parts_.push_back(std::make_unique<CollectivePart>(
          calls_, flow.members[part.index].device.index, part.arenas.rotation.slots,
          CollectiveCheck(shape, index, part.arenas, shape.output_offset(index))));
    }
  }

  [[nodiscard]] std::vector<Transfer*> transfers() const override {
    std::vector<Transfer*> all;
    for (const auto& part : parts_) all.push_back(part.get());
    return all;
  }
  [[nodiscard]] std::string export_handles() override {
    return has_first_ ? text_of(context_->communicators().export_handles()) : std::string();
  }
  void import_handles(const std::vector<std::string>& exports) override {
    context_->communicators().next_wish();
    if (calls_ != nullptr) calls_->identify(read_id(exports.at(static_cast<std::size_t>(first_rank_))));
  }
  void finish() override {
    if (calls_ != nullptr) calls_->finish();
  }

 private:
  std::shared_ptr<XcclContext> context_;
  int first_rank_;
  bool has_first_;
  std::shared_ptr<CollectiveCalls> calls_;
  std::vector<std::unique_ptr<CollectivePart>> parts_;
};

}  // namespace

std::map<std::string, std::string> XcclCollective::parameters() const {
  std::map<std::string, std::string> all;
  for (const Parameter& one : collective_parameters()) all.emplace(one.name, one.line());
  all.merge(form_parameters());
  return all;
}

Support XcclCollective::supports(const Flow& flow) const {
  const CollectiveShape shape = CollectiveShape::of(flow);
  if (shape.kind == CollectiveKind::barrier)
    return Support::no("xccl has no barrier: a reduction of one element is none");
  if (shape.accumulates() && CallOptions::of(flow.parameters).recorded > 1) {
    return Support::no(
        std::string(name_of(shape.kind)) +
        " in place adds up: of a graph of several calls none could be checked, recorded: 1 can be");
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
  return has_form(flow);
}

std::vector<FlowPart> XcclCollective::parts(const Flow& flow) const { return collective_parts(flow); }

std::unique_ptr<PreparedParts> XcclCollective::assemble(const Flow& flow,
                                                        const std::vector<LocalPart>& own) const {
  return std::make_unique<XcclCollectiveParts>(context(), flow, own);
}

std::vector<DeviceId> XcclCollective::gpus(const Flow& flow) const {
  std::vector<DeviceId> gpus;
  for (const Endpoint& member : flow.members) gpus.push_back(member.device);
  return gpus;
}

}  // namespace linkscope::xccl
