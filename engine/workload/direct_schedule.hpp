// direct-schedule on a host: ranks are threads of one process and store into one another's memory.
#pragma once

#include <memory>
#include <utility>

#include "backend/host/context.hpp"
#include "workload/schedule_method.hpp"

namespace linkscope::workload {

class HostDirectSchedule final : public ScheduleMethod {
 public:
  static constexpr MethodSpec spec{"direct-schedule",
                                   "an application's messages, stored straight into the receiver's memory",
                                   Quantity::bandwidth, direct_schedule_traits};

  explicit HostDirectSchedule(std::shared_ptr<host::HostContext> context)
      : ScheduleMethod(spec), context_(std::move(context)) {}

  [[nodiscard]] Support available() const override { return Support::yes(); }
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] std::unique_ptr<PreparedParts> assemble(const Flow& flow,
                                                        const std::vector<LocalPart>& own) const override;

 private:
  std::shared_ptr<host::HostContext> context_;
};

}  // namespace linkscope::workload
