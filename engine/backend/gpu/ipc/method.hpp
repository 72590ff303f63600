// ipc-copy and ipc-kernel: one process's GPU copies to or from memory that it has mapped from another process.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/method.hpp"

namespace linkscope::gpu {

class GpuContext;
class IpcMappings;

/// The process of flow.rank, which holds one end, maps the other end and does all of the work as a method of one
/// process would: pushing where it holds the source, pulling where it holds the destination. The other process arms and
/// checks its own end and is otherwise idle. Opening and closing the handle is outside every measured span.
class IpcMethod : public MultiPartMethod {
 public:
  /// Those of the work that make sense here.
  [[nodiscard]] std::map<std::string, std::string> parameters() const override;
  [[nodiscard]] Support available() const override;
  /// The same in every process: what depends on the GPUs that a process sees, connecting decides.
  [[nodiscard]] Support supports(const Flow& flow) const override;
  /// The driving process's part, timed, and the other one's, untimed.
  [[nodiscard]] std::vector<FlowPart> parts(const Flow& flow) const override;
  [[nodiscard]] std::unique_ptr<PreparedParts> assemble(const Flow& flow,
                                                        const std::vector<LocalPart>& own) const override;
  [[nodiscard]] Bytes rotation_bytes(const Flow& flow) const override;

 protected:
  /// `work`: the method of one process that does the copying; `own_parameters`: those of its parameters that stay.
  IpcMethod(const MethodSpec& spec, std::shared_ptr<GpuContext> context,
            std::shared_ptr<const ClassMethod> work, std::vector<std::string> own_parameters);

 private:
  std::shared_ptr<GpuContext> context_;
  std::shared_ptr<const ClassMethod> work_;
  std::vector<std::string> own_parameters_;
  std::shared_ptr<IpcMappings> mappings_;
};

class IpcCopy final : public IpcMethod {
 public:
  explicit IpcCopy(const std::shared_ptr<GpuContext>& context);
};

class IpcKernel final : public IpcMethod {
 public:
  explicit IpcKernel(const std::shared_ptr<GpuContext>& context);
};

}  // namespace linkscope::gpu
