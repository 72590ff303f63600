// direct-schedule on GPUs: messages are packed straight into the receiver's memory.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/gpu/ipc/mapping.hpp"
#include "backend/gpu/packing/gpu_packer.hpp"
#include "workload/direct_schedule.hpp"

namespace linkscope::workload {

/// Ranks are threads of one process, which may share a GPU, or in several processes of one node, whose memory then has
/// an IPC handle. See DirectTransport.
class GpuDirectSchedule final : public ScheduleMethod {
 public:
  GpuDirectSchedule(std::shared_ptr<gpu::GpuContext> context, std::shared_ptr<gpu::GpuPackers> packers);

  [[nodiscard]] std::map<std::string, std::string> parameters() const override;
  [[nodiscard]] Support available() const override;
  /// The same in every process: what depends on the GPUs that a process sees, connecting decides.
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] std::unique_ptr<PreparedParts> assemble(const Flow& flow,
                                                        const std::vector<LocalPart>& own) const override;

 private:
  std::shared_ptr<gpu::GpuContext> context_;
  std::shared_ptr<gpu::GpuPackers> packers_;
  std::shared_ptr<gpu::IpcMappings> mappings_;
};

}  // namespace linkscope::workload
