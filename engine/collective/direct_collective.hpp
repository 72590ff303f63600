// direct-collective: collectives by kernels that load from and store to the other GPUs' memory.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collective/direct_options.hpp"
#include "model/collective.hpp"
#include "model/method.hpp"

namespace linkscope::gpu {
class GpuContext;
class IpcMappings;
}  // namespace linkscope::gpu

namespace linkscope::direct {

class MemberWorkspace;

/// One kernel on each member's GPU, no library, no multicast. Members are in one process (peer access) or in several of
/// one node (IPC). docs/direct-collectives.md says how the kernels keep in step.
class DirectCollective final : public ClassMethod {
 public:
  explicit DirectCollective(std::shared_ptr<gpu::GpuContext> context);
  /// For Backend::free_retired.
  [[nodiscard]] std::function<void()> free_retired() const;
  /// Beside `other`, with its mappings: for tests.
  DirectCollective(const DirectCollective& other, const StressOptions& stress);

  /// Bandwidth, but latency for a barrier.
  [[nodiscard]] Quantity quantity_of(const Flow& flow) const override;
  [[nodiscard]] std::map<std::string, std::string> parameters() const override;
  [[nodiscard]] Support available() const override;
  /// Answers the same in every process. DirectCommunicator decides what depends on the GPUs that a process sees.
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] Reach reach() const override { return Reach::processes; }
  [[nodiscard]] std::vector<FlowPart> parts(const Flow& flow) const override {
    return collective_parts(flow);
  }
  [[nodiscard]] std::unique_ptr<PreparedParts> assemble(const Flow& flow,
                                                        const std::vector<LocalPart>& own) const override;
  /// Throws Error{unsupported}: no flow of it has one part.
  [[nodiscard]] std::unique_ptr<Transfer> prepare(const Flow& flow, const Arenas& arenas) const override;

 private:
  std::shared_ptr<gpu::GpuContext> context_;
  std::shared_ptr<gpu::IpcMappings> mappings_;
  std::shared_ptr<std::vector<MemberWorkspace>> retired_;  ///< see DirectCommunicator
  StressOptions stress_;
};

}  // namespace linkscope::direct
