#include "backend/mpi/collective.hpp"

#include <set>
#include <string>
#include <utility>

#include "backend/mpi/collective_transfer.hpp"
#include "base/error.hpp"
#include "model/collective.hpp"

namespace linkscope::mpi {

namespace {

std::vector<int> ranks_of(const Flow& flow) {
  std::vector<int> ranks;
  for (const Endpoint& member : flow.members) ranks.push_back(member.rank);
  return ranks;
}

/// This process's member, if it has one.
class MpiCollectiveParts final : public PreparedParts {
 public:
  MpiCollectiveParts(MpiRuntime& runtime, std::vector<int> ranks,
                     std::unique_ptr<MpiCollectiveTransfer> member, std::uint64_t slots)
      : runtime_(&runtime), ranks_(std::move(ranks)), member_(std::move(member)), slots_(slots) {}

  [[nodiscard]] std::vector<Transfer*> transfers() const override {
    return member_ ? std::vector<Transfer*>{member_.get()} : std::vector<Transfer*>{};
  }
  [[nodiscard]] std::string export_handles() override {
    return RankEntry{runtime_->rank(), runtime_->size(), slots_}.told();
  }
  void import_handles(const std::vector<std::string>& exports) override {
    const std::uint64_t slots = require_one_world(exports);
    held_ = runtime_->hold(ranks_);
    const MpiHandle communicator = runtime_->communicator(ranks_);
    if (member_) member_->connect(slots, communicator);
  }

 private:
  MpiRuntime* runtime_;
  std::vector<int> ranks_;
  std::unique_ptr<MpiCollectiveTransfer> member_;
  std::uint64_t slots_;
  std::shared_ptr<void> held_;
};

}  // namespace

Quantity MpiCollective::quantity_of(const Flow& flow) const {
  return CollectiveShape::of(flow).kind == CollectiveKind::barrier ? Quantity::latency : Quantity::bandwidth;
}

std::map<std::string, std::string> MpiCollective::parameters() const {
  std::map<std::string, std::string> all;
  for (const Parameter& one : collective_parameters()) all.emplace(one.name, one.line());
  all["type"] += "; of 16 bits, sums only where MPI, by the mpi.h in use, has the type";
  return all;
}

Support MpiCollective::supports(const Flow& flow) const {
  static_cast<void>(CollectiveShape::of(flow));
  const std::vector<int> ranks = ranks_of(flow);
  if (std::set<int>(ranks.begin(), ranks.end()).size() < ranks.size())
    return Support::no("mpi-collective has one member in each process");
  return Support::yes();
}

std::vector<FlowPart> MpiCollective::parts(const Flow& flow) const {
  std::vector<FlowPart> parts = collective_parts(flow);
  // MPI_Bcast has one buffer: out of place, the root's output is nowhere.
  if (CollectiveShape::of(flow).kind == CollectiveKind::broadcast && parts.front().source)
    parts.front().destination.reset();
  return parts;
}

std::unique_ptr<PreparedParts> MpiCollective::assemble(const Flow& flow,
                                                       const std::vector<LocalPart>& own) const {
  if (own.empty())
    return std::make_unique<MpiCollectiveParts>(context().library().runtime(), ranks_of(flow), nullptr, 0);
  const LocalPart& part = own.front();
  const Endpoint& where = flow.members.at(part.index);
  MpiRuntime& runtime = context().runtime(where.device);
  context().require_taken(where);
  const MpiMember member{static_cast<int>(part.index), context().caller(where.device), part.arenas};
  return std::make_unique<MpiCollectiveParts>(
      runtime, ranks_of(flow),
      std::make_unique<MpiCollectiveTransfer>(runtime, CollectiveShape::of(flow), member),
      part.arenas.rotation.slots);
}

Bytes MpiCollective::rotation_bytes(const Flow& flow) const {
  std::vector<DeviceId> devices;
  for (const Endpoint& member : flow.members) devices.push_back(member.device);
  return context().rotation_bytes(devices);
}

}  // namespace linkscope::mpi
