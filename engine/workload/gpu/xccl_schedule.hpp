// xccl-schedule: an application's messages by NCCL or RCCL.
#pragma once

#include <memory>
#include <vector>

#include "backend/gpu/packing/gpu_packer.hpp"
#include "backend/xccl/context.hpp"
#include "workload/schedule_method.hpp"

namespace linkscope::workload {

/// Each rank has a GPU of its own, of this process or of another. See XcclTransport.
class XcclSchedule final : public ScheduleMethod {
 public:
  XcclSchedule(std::shared_ptr<xccl::XcclContext> context, std::shared_ptr<gpu::GpuPackers> packers)
      : ScheduleMethod({"xccl-schedule", "an application's messages by the vendor's library (NCCL, RCCL)",
                        Quantity::bandwidth, xccl_schedule_traits}),
        context_(std::move(context)),
        packers_(std::move(packers)) {}

  [[nodiscard]] Support available() const override { return context_->available(); }
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] std::unique_ptr<PreparedParts> assemble(const Flow& flow,
                                                        const std::vector<LocalPart>& own) const override;

 private:
  std::shared_ptr<xccl::XcclContext> context_;
  std::shared_ptr<gpu::GpuPackers> packers_;
};

}  // namespace linkscope::workload
