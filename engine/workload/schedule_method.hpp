// ScheduleMethod: what the methods that carry schedules out have in common; they differ in how messages travel.
#pragma once

#include <memory>
#include <vector>

#include "model/method.hpp"
#include "model/packer.hpp"
#include "workload/schedule_transfer.hpp"

namespace linkscope::workload {

/// Where the rank's own work is done.
[[nodiscard]] inline const Endpoint& worker_of(const Flow& flow, std::size_t rank) {
  return flow.state.empty() ? flow.members[rank] : flow.state[rank];
}

/// What a rank works with; packer and transport are still to be named.
[[nodiscard]] inline RankContext context_of(const Flow& flow, const LocalPart& part) {
  return {flow.schedule.get(), static_cast<int>(part.index), nullptr, nullptr,
          part.arenas.source,  part.arenas.destination};
}

/// A flow has a part for each rank: its executor is the device that packs, which has the rank's state or, without any,
/// its messages. Allocates what MessageSlots and the state say.
class ScheduleMethod : public MultiPartMethod {
 public:
  /// `packers`: of ranks whose state is on a GPU; null where there are none.
  explicit ScheduleMethod(const MethodSpec& spec, std::shared_ptr<PackerFactory> packers = nullptr)
      : MultiPartMethod(spec), packers_(std::move(packers)) {}

  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] Support supports_in(const Flow& flow, const Case& wanted) const override;
  [[nodiscard]] std::vector<FlowPart> parts(const Flow& flow) const final;
  /// 0: its parts say what they need.
  [[nodiscard]] Bytes footprint(const Flow& /*flow*/) const final { return 0; }

 protected:
  /// Throws Error{unsupported} where the rank's device has none for such memory.
  [[nodiscard]] std::unique_ptr<Packer> packer_of(const Flow& flow, std::size_t rank) const;

 private:
  std::shared_ptr<PackerFactory> packers_;
};

/// Ranks of this process, ready. They keep the flow's schedule.
class ScheduleParts : public PreparedParts {
 public:
  explicit ScheduleParts(std::shared_ptr<const Schedule> schedule) : schedule_(std::move(schedule)) {}

  [[nodiscard]] std::vector<Transfer*> transfers() const final;
  void add(std::unique_ptr<ScheduleTransfer> rank) { ranks_.push_back(std::move(rank)); }

 protected:
  [[nodiscard]] const std::vector<std::unique_ptr<ScheduleTransfer>>& ranks() const { return ranks_; }

 private:
  std::shared_ptr<const Schedule> schedule_;
  std::vector<std::unique_ptr<ScheduleTransfer>> ranks_;
};

}  // namespace linkscope::workload
