// Allocating, emptying and reading workspaces.
#include "collective/member_workspace.hpp"

#include <cstddef>
#include <string>

#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/memories.hpp"
#include "backend/gpu/vendor/check.hpp"

namespace linkscope::direct {
namespace {

/// Memory that others may write while a kernel reads it.
std::unique_ptr<Buffer> allocate(const std::shared_ptr<gpu::GpuContext>& context, int device, Bytes bytes) {
  const DeviceId id{DeviceKind::gpu, device};
  const auto memory =
      gpu::vendor::has_grains ? gpu::fine_grained_memory(context) : gpu::device_memory(context);
  const Endpoint where{id, std::string(memory->name()), Placement::bound, id, {}, 0, memory->traits()};
  return memory->allocate(where, bytes);
}

}  // namespace

MemberWorkspace::MemberWorkspace(const std::shared_ptr<gpu::GpuContext>& context, int device, Bytes staging)
    : context_(context), device_(device), buffer_(allocate(context, device, packets_offset + staging)) {}

void MemberWorkspace::clear(const PeerTable& peers) const {
  Workspace::NoticeBoard book{};
  book.members = static_cast<std::uint64_t>(peers.members);
  for (int member = 0; member < peers.members; ++member) {
    book.notices[member] = &reinterpret_cast<Workspace*>(peers.workspaces[member])->notices;
  }
  context_->use(device_);
  const gpuStream_t stream = context_->service_stream(device_);
  LINKSCOPE_CHECK(gpuMemsetAsync(buffer_->data(), 0, buffer_->bytes(), stream));
  LINKSCOPE_CHECK(gpuMemcpyAsync(buffer_->data() + offsetof(Workspace, book), &book, sizeof book,
                                 gpuMemcpyDefault, stream));
  LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
}

Workspace::Notices MemberWorkspace::notices() const {
  Workspace::Notices notices{};
  context_->use(device_);
  const gpuStream_t stream = context_->service_stream(device_);
  LINKSCOPE_CHECK(gpuMemcpyAsync(&notices, buffer_->data(), sizeof notices, gpuMemcpyDefault, stream));
  LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
  return notices;
}

}  // namespace linkscope::direct
