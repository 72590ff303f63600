// xccl-collective: collectives by NCCL or RCCL.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "backend/xccl/xccl_method.hpp"

namespace linkscope::xccl {

/// Members are GPUs of one process or of several, each with its memory. What all of one process call makes one Joint.
class XcclCollective final : public XcclMethod {
 public:
  explicit XcclCollective(std::shared_ptr<XcclContext> context)
      : XcclMethod(std::move(context), {"xccl-collective", "collectives by the vendor's library (NCCL, RCCL)",
                                        Quantity::bandwidth, xccl_traits}) {}

  [[nodiscard]] std::map<std::string, std::string> parameters() const override;
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] std::vector<FlowPart> parts(const Flow& flow) const override;
  [[nodiscard]] std::unique_ptr<PreparedParts> assemble(const Flow& flow,
                                                        const std::vector<LocalPart>& own) const override;

 private:
  [[nodiscard]] std::vector<DeviceId> gpus(const Flow& flow) const override;
};

}  // namespace linkscope::xccl
