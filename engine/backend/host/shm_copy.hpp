// shm-copy: messages between two processes of a host, copied by the CPU straight into the receiver's memory.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/host/context.hpp"
#include "model/method.hpp"

namespace linkscope::host {

/// Each end's process has a part, one thread beside its memory. The receiver uses a message where it lies: nothing is
/// copied twice, as MPI may do to fill memory of the receiver's choice.
class ShmCopy final : public MultiPartMethod {
 public:
  explicit ShmCopy(std::shared_ptr<HostContext> context)
      : MultiPartMethod({"shm-copy",
                         "messages between two processes of a host, copied straight into shared memory",
                         Quantity::bandwidth, shm_copy_traits}),
        context_(std::move(context)) {}

  [[nodiscard]] Quantity quantity_of(const Flow& flow) const override;
  [[nodiscard]] std::map<std::string, std::string> parameters() const override;
  [[nodiscard]] Support available() const override { return Support::yes(); }
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] std::vector<FlowPart> parts(const Flow& flow) const override;
  [[nodiscard]] std::unique_ptr<PreparedParts> assemble(const Flow& flow,
                                                        const std::vector<LocalPart>& own) const override;
  [[nodiscard]] Bytes rotation_bytes(const Flow& flow) const override;

 private:
  std::shared_ptr<HostContext> context_;
};

}  // namespace linkscope::host
