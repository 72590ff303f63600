// direct-collective: collectives by kernels that load from and store to the other GPUs' memory.
#pragma once

#include <memory>
#include <vector>

#include "backend/gpu/context.hpp"
#include "backend/gpu/ipc/mapping.hpp"
#include "collective/direct_communicator.hpp"
#include "collective/direct_options.hpp"
#include "model/method.hpp"

namespace linkscope::direct {

/// Makes this process's members of a flow ready: one kernel on each member's GPU, no library, no multicast. Members are
/// in one process (peer access) or in several of one node (IPC). docs/direct-collectives.md says how the kernels keep in
/// step. Tests take it from the row (Method::assemble) and make another row of it, with stress.
struct DirectAssembler {
  explicit DirectAssembler(std::shared_ptr<gpu::GpuContext> context)
      : gpus(std::move(context)),
        mappings(std::make_shared<gpu::IpcMappings>(gpus)),
        retired(std::make_shared<RetiredWorkspaces>()) {}
  [[nodiscard]] std::unique_ptr<PreparedParts> operator()(const Flow& flow,
                                                          const std::vector<LocalPart>& own) const;

  std::shared_ptr<gpu::GpuContext> gpus;
  std::shared_ptr<gpu::IpcMappings> mappings;
  std::shared_ptr<RetiredWorkspaces> retired;  ///< emptied by Backend::free_retired
  StressOptions stress = {};
};

Method direct_collective(const DirectAssembler& assembler);

}  // namespace linkscope::direct
