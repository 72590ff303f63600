// The methods that carry an application's messages out: they differ in how messages travel; what they have in common.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/host/host_transfer.hpp"
#include "model/method.hpp"
#include "model/packer.hpp"
#include "workload/phase_work.hpp"

namespace linkscope {
namespace host {
class HostContext;
}
namespace mpi {
class MpiContext;
}
namespace gpu {
class GpuContext;
class GpuPackers;
}  // namespace gpu
namespace xccl {
class XcclContext;
}

namespace workload {

/// Ranks on CPUs: threads of one process that store into one another's memory.
[[nodiscard]] Method direct_schedule(const std::shared_ptr<host::HostContext>& context);
/// Ranks on GPUs: threads of one process, which may share a GPU, or in several processes of one node, whose memory then
/// has an IPC handle.
[[nodiscard]] Method direct_schedule_on_gpus(const std::shared_ptr<gpu::GpuContext>& context,
                                             const std::shared_ptr<gpu::GpuPackers>& packers);
/// A process for each rank. `gpu_packer`: of ranks whose state is on a GPU; empty where there is none.
[[nodiscard]] Method mpi_schedule(const std::shared_ptr<mpi::MpiContext>& context,
                                  const MakePacker& gpu_packer);
/// Each rank has a GPU of its own, of this process or of another.
[[nodiscard]] Method xccl_schedule(const std::shared_ptr<xccl::XcclContext>& context,
                                   const std::shared_ptr<gpu::GpuPackers>& packers);

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

/// Returns what a part's rank works with, but for its transport. `gpu_packer` makes its packer where its work is done on a
/// GPU. Throws Error{unsupported} where that is empty, or the GPU does not reach the rank's memory.
[[nodiscard]] RankContext rank_context(const Flow& flow, const LocalPart& part, const MakePacker& gpu_packer);

/// The thread that carries a rank out.
struct RankThread {
  int node = 0;  ///< it runs on a CPU of this one
  // NOLINTBEGIN(readability-redundant-member-init): lets initialisers leave them out
  host::Worker* worker = nullptr;    ///< null: any of the node
  std::shared_ptr<void> turn{};      ///< held as long as it may call a library that serves one thread
  std::vector<std::string> notes{};  ///< for the row
  std::function<void()> prepare{};   ///< called before each start; may throw
  // NOLINTEND(readability-redundant-member-init)
};

/// Makes a rank ready to carry a schedule out. One transfer is the whole schedule. The first start since arm() first carries two repeats of each loop out untimed, with
/// other data in each, and checks after each phase that its messages have the data of their own repeat: one that is lost,
/// old or too early is found. All ranks meet before the timed transfers and after them. What counts of the span is
/// communication, waits for other ranks included: no gaps, and no work of the application's own.
[[nodiscard]] std::unique_ptr<host::HostTransfer> schedule_transfer(RankContext context, RankThread thread);

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

}  // namespace workload
}  // namespace linkscope
