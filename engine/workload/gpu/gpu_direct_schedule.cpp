#include "workload/gpu/gpu_direct_schedule.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "workload/gpu/direct_ranks.hpp"

namespace linkscope::workload {
namespace {

constexpr const char* order_parameter = "order";

/// Throws Error{bad_input} for a word that means nothing.
MessageOrder wanted_order(const Flow& flow) {
  const std::string word = flow.parameters.word(order_parameter, "device");
  if (word != "device" && word != "host") throw Error(Fault::bad_input, "parameter order: device or host");
  return word == "device" ? MessageOrder::device : MessageOrder::host;
}

}  // namespace

GpuDirectSchedule::GpuDirectSchedule(std::shared_ptr<gpu::GpuContext> context,
                                     std::shared_ptr<gpu::GpuPackers> packers)
    : ScheduleMethod(HostDirectSchedule::spec, packers),
      context_(std::move(context)),
      packers_(std::move(packers)),
      mappings_(std::make_shared<gpu::IpcMappings>(context_)) {}

std::map<std::string, std::string> GpuDirectSchedule::parameters() const {
  return {{order_parameter,
           "device (default): GPUs keep packing and messages in order, by events; host: hosts synchronise "
           "them before "
           "they say that a message is there. Ranks on CPUs know none but host"}};
}

Support GpuDirectSchedule::available() const {
  return context_->device_count() > 0 ? Support::yes() : Support::no(context_->problem());
}

Support GpuDirectSchedule::supports(const Flow& flow) const {
  if (const Support usual = ScheduleMethod::supports(flow); !usual) return usual;
  static_cast<void>(wanted_order(flow));
  const bool several = std::any_of(flow.members.begin(), flow.members.end(), [&](const Endpoint& member) {
    return member.rank != flow.members.front().rank;
  });
  for (std::size_t rank = 0; rank < flow.members.size(); ++rank) {
    const DeviceId& device = worker_of(flow, rank).device;
    if (device.kind != DeviceKind::gpu)
      return Support::no("direct-schedule has ranks on GPUs or on CPUs, and rank " + std::to_string(rank) +
                         " is on " + device.text());
    if (!several) continue;
    if (const Support mapped = gpu::has_ipc_handle(flow.members[rank]); !mapped) return mapped;
  }
  return Support::yes();
}

std::unique_ptr<PreparedParts> GpuDirectSchedule::assemble(const Flow& flow,
                                                           const std::vector<LocalPart>& own) const {
  std::vector<LocalRank> ranks;
  for (const LocalPart& part : own) {
    ranks.push_back({context_of(flow, part),
                     packers_->gpu_packer(worker_of(flow, part.index), flow.members[part.index])});
  }
  return std::make_unique<DirectRanks>(context_, mappings_, flow, std::move(ranks), wanted_order(flow));
}

}  // namespace linkscope::workload
