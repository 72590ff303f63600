// ModelledSchedule: an application's messages, as the described node's figures say they behave.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/modelled/context.hpp"
#include "backend/modelled/rows.hpp"
#include "model/method.hpp"

namespace linkscope::modelled {

/// One row of schedule_rows; play_schedule() says what the model is. Processes are not told apart.
class ModelledSchedule : public ClassMethod {
 public:
  ModelledSchedule(std::shared_ptr<const ModelledContext> context, ScheduleRow row)
      : ClassMethod(row.spec), context_(std::move(context)), row_(row) {}

  [[nodiscard]] Quantity quantity_of(const Flow& flow) const override {
    return flow.bytes == 0 ? Quantity::latency : quantity();
  }
  [[nodiscard]] std::map<std::string, std::string> parameters() const override;
  [[nodiscard]] Support available() const override { return Support::yes(); }
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] Support supports_in(const Flow& flow, const Case& wanted) const override;
  [[nodiscard]] Reach reach() const override { return Reach::processes; }
  /// Its parts say what each needs.
  [[nodiscard]] Bytes footprint(const Flow& /*flow*/) const override { return 0; }
  [[nodiscard]] std::vector<FlowPart> parts(const Flow& flow) const override;
  /// Throws Error{unsupported} where nothing in the schedule takes time.
  [[nodiscard]] std::unique_ptr<PreparedParts> assemble(const Flow& flow,
                                                        const std::vector<LocalPart>& own) const override;
  /// Throws Error{unsupported}: a schedule has more parts than one.
  [[nodiscard]] std::unique_ptr<Transfer> prepare(const Flow& flow, const Arenas& arenas) const override;

 private:
  std::shared_ptr<const ModelledContext> context_;
  ScheduleRow row_;
};

}  // namespace linkscope::modelled
