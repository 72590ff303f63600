// xccl: messages from GPU to GPU by NCCL's or RCCL's send and receive.
#pragma once

#include <memory>
#include <utility>

#include "backend/xccl/context.hpp"
#include "model/method.hpp"

namespace linkscope::xccl {

/// A flow is two parts, both timed: the source's send and the destination's receive. All messages of a case share one
/// communicator of all their GPUs, and what one GPU sends and receives goes out in one group of calls, as in nccl-tests'
/// sendrecv (Exchange).
class Xccl final : public Method {
 public:
  explicit Xccl(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  [[nodiscard]] std::string_view name() const override { return "xccl"; }
  [[nodiscard]] std::string_view summary() const override {
    return "a message from GPU to GPU by the vendor's library (ncclSend and ncclRecv)";
  }
  [[nodiscard]] Quantity quantity() const override { return Quantity::bandwidth; }
  [[nodiscard]] std::map<std::string, std::string> parameters() const override;
  [[nodiscard]] Support available() const override { return context_->available(); }
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] Reach reach() const override { return Reach::processes; }
  [[nodiscard]] std::vector<Part> parts(const Flow& flow) const override;
  [[nodiscard]] std::unique_ptr<Ensemble> assemble(const Flow& flow,
                                                   const std::vector<OwnPart>& own) const override;
  [[nodiscard]] std::unique_ptr<Transfer> prepare(const Flow& flow, const Arenas& arenas) const override;
  /// 0 for a graph, which is recorded for one slot.
  [[nodiscard]] Bytes rotation_bytes(const Flow& flow) const override;

 private:
  std::shared_ptr<Context> context_;
};

}  // namespace linkscope::xccl
