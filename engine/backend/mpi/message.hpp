// mpi: messages between two processes, by MPI's point-to-point and one-sided calls.
#pragma once

#include <memory>

#include "backend/mpi/context.hpp"
#include "model/method.hpp"

namespace linkscope::mpi {

/// The sender's process and the receiver's each have a part; one CPU thread beside each end's memory calls MPI.
class Message final : public Method {
 public:
  explicit Message(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  [[nodiscard]] std::string_view name() const override { return "mpi"; }
  [[nodiscard]] std::string_view summary() const override {
    return "messages between two processes by MPI, loaded at run time";
  }
  [[nodiscard]] Quantity quantity() const override { return Quantity::bandwidth; }
  [[nodiscard]] Quantity quantity_of(const Flow& flow) const override;
  [[nodiscard]] std::map<std::string, std::string> parameters() const override;
  [[nodiscard]] Support available() const override { return context_->library().available(); }
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] Reach reach() const override { return Reach::processes; }
  [[nodiscard]] std::vector<Part> parts(const Flow& flow) const override;
  [[nodiscard]] std::unique_ptr<Ensemble> assemble(const Flow& flow,
                                                   const std::vector<OwnPart>& own) const override;
  [[nodiscard]] std::unique_ptr<Transfer> prepare(const Flow& flow, const Arenas& arenas) const override;
  [[nodiscard]] Bytes rotation_bytes(const Flow& flow) const override;

 private:
  std::shared_ptr<Context> context_;
};

}  // namespace linkscope::mpi
