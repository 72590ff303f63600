// xccl-collective: collectives by NCCL or RCCL.
#pragma once

#include <memory>
#include <vector>

#include "backend/xccl/xccl_method.hpp"

namespace linkscope::xccl {

/// Members are GPUs of one process or of several, each with its memory. What all of one process call makes one Joint.
class XcclCollective final : public XcclMethod {
 public:
  using XcclMethod::XcclMethod;

  [[nodiscard]] std::string_view name() const override { return "xccl-collective"; }
  [[nodiscard]] std::string_view summary() const override {
    return "collectives by the vendor's library (NCCL, RCCL)";
  }
  [[nodiscard]] std::map<std::string, std::string> parameters() const override;
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] std::vector<FlowPart> parts(const Flow& flow) const override;
  [[nodiscard]] std::unique_ptr<PreparedParts> assemble(const Flow& flow,
                                                        const std::vector<LocalPart>& own) const override;

 private:
  [[nodiscard]] std::vector<DeviceId> gpus(const Flow& flow) const override;
};

}  // namespace linkscope::xccl
