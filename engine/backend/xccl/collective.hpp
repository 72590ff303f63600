// xccl-collective: collectives by NCCL or RCCL.
#pragma once

#include <memory>
#include <utility>

#include "backend/xccl/context.hpp"
#include "model/method.hpp"

namespace linkscope::xccl {

/// Members are GPUs of one process or of several, each with its memory. What all of one process call makes one Joint.
class XcclCollective final : public Method {
 public:
  explicit XcclCollective(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  [[nodiscard]] std::string_view name() const override { return "xccl-collective"; }
  [[nodiscard]] std::string_view summary() const override {
    return "collectives by the vendor's library (NCCL, RCCL)";
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
