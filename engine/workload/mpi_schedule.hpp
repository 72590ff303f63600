// mpi-schedule: an application's messages by MPI, a process for each rank.
#pragma once

#include <memory>
#include <utility>

#include "backend/mpi/context.hpp"
#include "workload/schedule_method.hpp"

namespace linkscope::workload {

class MpiSchedule final : public ScheduleMethod {
 public:
  MpiSchedule(std::shared_ptr<mpi::MpiContext> context, std::shared_ptr<PackerFactory> packers)
      : ScheduleMethod({"mpi-schedule", "an application's messages by MPI, loaded at run time",
                        Quantity::bandwidth, mpi_schedule_traits},
                       std::move(packers)),
        context_(std::move(context)) {}

  [[nodiscard]] std::map<std::string, std::string> parameters() const override;
  [[nodiscard]] Support available() const override { return context_->library().available(); }
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] std::unique_ptr<PreparedParts> assemble(const Flow& flow,
                                                        const std::vector<LocalPart>& own) const override;

 private:
  std::shared_ptr<mpi::MpiContext> context_;
};

}  // namespace linkscope::workload
