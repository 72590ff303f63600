// schedule_method: what the methods that carry schedules out have in common.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "model/method.hpp"
#include "workload/schedule_transfer.hpp"

namespace linkscope::workload {

/// direct_schedule() and direct_schedule_on_gpus() share a name.
inline constexpr MethodSpec direct_schedule_spec{
    "direct-schedule",
    "an application's messages, stored straight into the receiver's memory",
    Quantity::bandwidth,
    {.maps_members = true, .schedules = true}};

/// A flow has a part for each rank: its executor is the device that packs, which has the rank's state or, without any,
/// its messages. The part's memory is what MessageSlots and the state say. `supports`: what the method asks of a flow
/// beside. assemble() is left to the method.
[[nodiscard]] Method schedule_method(const MethodSpec& spec, std::function<Support(const Flow&)> supports);

/// Returns where the rank's own work is done.
[[nodiscard]] inline const Endpoint& worker_of(const Flow& flow, std::size_t rank) {
  return flow.state.empty() ? flow.members[rank] : flow.state[rank];
}
[[nodiscard]] bool in_several_processes(const Flow& flow);

/// Returns what a part's rank works with, but for its transport. `gpu_packer` makes its packer where its work is done on a
/// GPU. Throws Error{unsupported} where that is empty, or the GPU does not reach the rank's memory.
[[nodiscard]] RankContext rank_context(const Flow& flow, const LocalPart& part, const MakePacker& gpu_packer);

/// The ranks of this process, ready.
class ScheduleParts : public PreparedParts {
 public:
  [[nodiscard]] std::vector<Transfer*> transfers() const final {
    std::vector<Transfer*> all;
    for (const auto& rank : ranks_) all.push_back(rank.get());
    return all;
  }
  void add(RankContext rank, RankThread thread) {
    ranks_.push_back(schedule_transfer(std::move(rank), std::move(thread)));
  }

 private:
  std::vector<std::unique_ptr<host::HostTransfer>> ranks_;
};

}  // namespace linkscope::workload
