// MemberWorkspace: one member's workspace on its GPU, and where that member finds everybody's memory.
#pragma once

#include <memory>
#include <vector>

#include "base/units.hpp"
#include "collective/protocol/workspace.hpp"
#include "model/buffer.hpp"

namespace linkscope::gpu {
class GpuContext;
}

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

}  // namespace linkscope::direct
