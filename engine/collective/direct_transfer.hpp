// DirectTransfer: one GPU's share of a collective, ready to be launched. MemberWorkspace: one member's workspace on its
// GPU, and where that member finds everybody's memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "backend/gpu/context.hpp"
#include "backend/gpu/transfer.hpp"
#include "base/units.hpp"
#include "collective/direct_options.hpp"
#include "collective/launch_choice.hpp"
#include "collective/protocol/workspace.hpp"
#include "model/buffer.hpp"
#include "model/collective.hpp"
#include "model/collective_check.hpp"

namespace linkscope::direct {

/// Everybody's memory by one member's addresses, in member order; null where a member has none of the kind.
struct PeerBuffers {
  PeerTable peers;
  std::vector<const std::byte*> sources;
  std::vector<std::byte*> destinations;
};

/// Owns the workspace. Its operations have ended when they return.
class MemberWorkspace {
 public:
  /// `staging`: bytes for packets. Throws Error{no_memory}. `context` outlives it.
  MemberWorkspace(const std::shared_ptr<gpu::GpuContext>& context, int device, Bytes staging);

  /// For the process that maps it elsewhere.
  [[nodiscard]] const Buffer& buffer() const { return *buffer_; }
  [[nodiscard]] int device() const { return device_; }

  /// Empties it: calls are counted from 1 again. Only where all members do so before any of them starts.
  void clear(const PeerTable& peers) const;
  [[nodiscard]] Workspace::Notices notices() const;

 private:
  std::shared_ptr<gpu::GpuContext> context_;
  int device_;
  std::unique_ptr<Buffer> buffer_;
};

/// A collective, as all its members know it.
struct CollectivePlan {
  CollectiveShape shape;
  DirectOptions form;
  StressOptions stress;
  std::vector<LaunchChoice> choices;  ///< one at least
  std::vector<std::string> names;     ///< "member 2 (gpu:2)"
  DeviceLimits limits;
};

/// Whatever shape it is launched with, all members are: use() and the launches come in the same order in all of them.
class DirectTransfer final : public gpu::GpuTransfer {
 public:
  /// `space` and the arenas outlive it. Throws Error{unsupported} where a choice's blocks would not all run at once,
  /// with `sharing` members on the GPU.
  DirectTransfer(std::shared_ptr<gpu::GpuContext> context, std::shared_ptr<const CollectivePlan> plan,
                 int index, const Arenas& arenas, const MemberWorkspace& space, PeerBuffers peer_buffers,
                 int sharing);

  [[nodiscard]] int device() const override { return space_.device(); }
  void enqueue(gpuStream_t stream, std::uint64_t repeats) override;

  void arm(std::uint64_t seed) override;
  /// Names the member that did not come, where one did not.
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override;
  [[nodiscard]] std::optional<Mismatch> fault() const override;

  /// Empties the workspace: all members do before the next start.
  void use(const Setting& setting) override;
  [[nodiscard]] std::vector<std::string> notes() const override;

 private:
  void choose(const LaunchChoice& choice);
  [[nodiscard]] const void* kernel_of(const LaunchChoice& choice) const;
  // The arguments of the kernel of choice_.
  [[nodiscard]] PacketWork packet_work() const;
  [[nodiscard]] PeerWork peer_work() const;
  [[nodiscard]] ChunkWork chunk_work() const;
  [[nodiscard]] PushWork push_work() const;
  [[nodiscard]] RingWork ring_work() const;
  [[nodiscard]] WaitLimits wait_limit() const;
  /// The start of this member's input; null where it sends nothing.
  [[nodiscard]] const std::byte* own_source() const;
  [[nodiscard]] std::byte* destination_of(int member) const;
  void require_resident(const LaunchChoice& choice, int sharing) const;

  std::shared_ptr<gpu::GpuContext> context_;
  std::shared_ptr<const CollectivePlan> plan_;
  int index_;
  Arenas arenas_;
  const MemberWorkspace& space_;
  PeerBuffers peer_buffers_;
  LaunchChoice choice_;
  const void* kernel_ = nullptr;
  std::variant<PacketWork, PeerWork, PushWork, RingWork> work_;
};

}  // namespace linkscope::direct
