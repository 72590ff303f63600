// direct-collective: collectives by kernels that load from and store to the other GPUs' memory. DirectCommunicator:
// this process's members of one, and how they come to the others' memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/gpu/context.hpp"
#include "backend/gpu/ipc/mapping.hpp"
#include "collective/direct_options.hpp"
#include "collective/direct_transfer.hpp"
#include "model/flow_part.hpp"
#include "model/method.hpp"

namespace linkscope::direct {

/// Workspaces whose communicator is gone and which other processes may still map. They are freed when all processes
/// have come to the next case (Backend::free_retired).
using RetiredWorkspaces = std::vector<MemberWorkspace>;

class DirectCommunicator final : public PreparedParts {
 public:
  /// `own` has a part at least. Allocates the workspaces, which end up in `retired` where others may map them.
  DirectCommunicator(std::shared_ptr<gpu::GpuContext> context, std::shared_ptr<gpu::IpcMappings> mappings,
                     std::shared_ptr<RetiredWorkspaces> retired, Flow flow, std::vector<LocalPart> own,
                     const StressOptions& stress);
  ~DirectCommunicator() override;
  DirectCommunicator(const DirectCommunicator&) = delete;
  DirectCommunicator& operator=(const DirectCommunicator&) = delete;

  [[nodiscard]] std::vector<Transfer*> transfers() const override;
  /// Gives handles of the workspaces where members are in several processes, and of the buffers where kernels may work
  /// on them.
  [[nodiscard]] std::string export_handles() override;
  void import_handles(const std::vector<std::string>& exports) override;

 private:
  /// A member, as all processes know it once they have exported theirs.
  struct PeerInfo {
    int device = 0;  ///< its GPU, by this process's count
    int multiprocessors = 1;
    bool programmatic = false;       ///< its kernels can be launched with vendor::Start::programmatic
    const LocalPart* own = nullptr;  ///< this and the next: where it is this process's
    const MemberWorkspace* space = nullptr;
    std::optional<gpu::IpcExport> workspace;    ///< where it is another process's
    std::optional<gpu::IpcExport> source;       ///< the same, if it has one and others may load from it
    std::optional<gpu::IpcExport> destination;  ///< the same, if it has one and others may store to it
  };

  [[nodiscard]] int own_rank() const;
  [[nodiscard]] std::vector<PeerInfo> peer_infos(const std::vector<std::string>& exports) const;
  [[nodiscard]] static int sharing(const std::vector<PeerInfo>& peer_infos);
  [[nodiscard]] DeviceLimits device_limits(const std::vector<PeerInfo>& peer_infos) const;
  /// Says whether this process's kernels can be launched with vendor::Start::programmatic on that GPU.
  [[nodiscard]] bool starts_programmatically(int device) const;
  [[nodiscard]] bool lines_arrive(const std::vector<PeerInfo>& peer_infos) const;
  /// Says whether all members' kernels reach all members' buffers, as every process sees it.
  [[nodiscard]] bool peers_reach(const std::vector<PeerInfo>& peer_infos) const;
  [[nodiscard]] PeerBuffers reach(int device, int me, const std::vector<PeerInfo>& peer_infos,
                                  const DeviceLimits& limits);
  [[nodiscard]] std::byte* reach(int device, const Buffer& buffer);
  [[nodiscard]] std::byte* reach(int device, const gpu::IpcExport& exported, int rank);

  std::shared_ptr<gpu::GpuContext> context_;
  std::shared_ptr<gpu::IpcMappings> mappings_;
  std::shared_ptr<RetiredWorkspaces> retired_;
  Flow flow_;
  CollectiveShape shape_;
  DirectOptions form_;
  StressOptions stress_;
  std::vector<LocalPart> own_;
  std::vector<MemberWorkspace> spaces_;  ///< of the own parts, in order
  std::vector<gpu::PeerMapping> held_;   ///< peer access
  std::vector<std::unique_ptr<gpu::ForeignBuffer>> mapped_;
  std::vector<std::unique_ptr<Transfer>> members_;  ///< go first
};

/// Makes this process's members of a flow ready: one kernel on each member's GPU, no library, no multicast. Members are
/// in one process (peer access) or in several of one node (IPC). docs/direct-collectives.md says how the kernels keep
/// in step. Tests take it from the row (Method::assemble) and make another row of it, with stress.
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
