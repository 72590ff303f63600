// mpi: messages between two processes, by MPI's point-to-point and one-sided calls.
#pragma once

#include <memory>
#include <utility>

#include "backend/mpi/mpi_method.hpp"

namespace linkscope::mpi {

/// The sender's process and the receiver's each have a part; one CPU thread beside each end's memory calls MPI.
class MpiMessage final : public MpiMethod {
 public:
  explicit MpiMessage(std::shared_ptr<MpiContext> context)
      : MpiMethod(std::move(context), {"mpi", "messages between two processes by MPI, loaded at run time",
                                       Quantity::bandwidth, mpi_traits}) {}

  [[nodiscard]] Quantity quantity_of(const Flow& flow) const override;
  [[nodiscard]] std::map<std::string, std::string> parameters() const override;
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] std::vector<FlowPart> parts(const Flow& flow) const override;
  [[nodiscard]] std::unique_ptr<PreparedParts> assemble(const Flow& flow,
                                                        const std::vector<LocalPart>& own) const override;
  [[nodiscard]] Bytes rotation_bytes(const Flow& flow) const override;
};

}  // namespace linkscope::mpi
