// xccl: messages from GPU to GPU by NCCL's or RCCL's send and receive.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "backend/xccl/xccl_method.hpp"

namespace linkscope::xccl {

/// A flow is two parts, both timed: the source's send and the destination's receive. All messages of a case share one
/// communicator of all their GPUs, and what one GPU sends and receives goes out in one group of calls, as in
/// nccl-tests' sendrecv (Exchange).
class Xccl final : public XcclMethod {
 public:
  explicit Xccl(std::shared_ptr<XcclContext> context)
      : XcclMethod(std::move(context),
                   {"xccl", "a message from GPU to GPU by the vendor's library (ncclSend and ncclRecv)",
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
