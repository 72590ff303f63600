// mpi-collective: MPI's collectives, one process for each member.
#pragma once

#include <memory>
#include <utility>

#include "backend/mpi/mpi_method.hpp"

namespace linkscope::mpi {

/// One CPU thread beside each member's memory calls MPI. Clock::host times each call by itself, with a barrier between
/// calls outside the time, as osu_allreduce and its like do; the other clocks time calls made one right after another.
class MpiCollective final : public MpiMethod {
 public:
  explicit MpiCollective(std::shared_ptr<MpiContext> context)
      : MpiMethod(std::move(context),
                  {"mpi-collective", "collectives of several processes by MPI, loaded at run time",
                   Quantity::bandwidth, mpi_collective_traits}) {}

  [[nodiscard]] Quantity quantity_of(const Flow& flow) const override;
  [[nodiscard]] std::map<std::string, std::string> parameters() const override;
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] std::vector<FlowPart> parts(const Flow& flow) const override;
  [[nodiscard]] std::unique_ptr<PreparedParts> assemble(const Flow& flow,
                                                        const std::vector<LocalPart>& own) const override;
  [[nodiscard]] Bytes rotation_bytes(const Flow& flow) const override;
};

}  // namespace linkscope::mpi
