// Peer access and staging of copies by the driver.
#include "backend/gpu/copy/copy_path.hpp"

#include <algorithm>
#include <utility>

#include "backend/gpu/gpu_method.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "backend/host/host_buffer.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

bool returns_at_once(const Endpoint& end) { return !end.traits.system_pages && !end.traits.migrates; }

PeerAccess wanted_access(const Flow& flow) { return flow.parameters.choice<PeerAccess>(peer_access); }

}  // namespace

Support has_copy_path(const GpuContext& context, const Flow& flow) {
  const PeerAccess wanted = wanted_access(flow);
  for (const auto& end : {flow.source, flow.destination}) {
    if (end->device.kind != DeviceKind::gpu) continue;
    if (const Support here = context.has(end->device); !here) return here;
  }
  if (!between_gpus(flow)) {
    if (wanted == PeerAccess::on) return Support::yes();
    return Support::no("peer_access off has a meaning only between two GPUs");
  }
  if (wanted == PeerAccess::off) return Support::yes();
  return context.peers().possible(flow.source->device.index, flow.destination->device.index);
}

PeerHold open_copy_path(GpuContext& context, const Flow& flow) {
  if (!between_gpus(flow)) return nullptr;
  return context.peers().hold(flow.source->device.index, flow.destination->device.index, wanted_access(flow));
}

Enqueue enqueueing_of_copy(const Flow& flow) {
  const bool staged = between_gpus(flow) && wanted_access(flow) == PeerAccess::off;
  const bool on_host =
      flow.source->device.kind == DeviceKind::numa && flow.destination->device.kind == DeviceKind::numa;
  const bool returns =
      returns_at_once(*flow.source) && returns_at_once(*flow.destination) && !staged && !on_host;
  return returns ? Enqueue::returns : Enqueue::blocks;
}

LeadIn lead_in_of(GpuContext& context, const Flow& flow, Bytes most) {
  const std::byte* const source = context.lead_in_memory(flow.source->device);
  return {source, context.lead_in_memory(flow.destination->device) + lead_in_bytes,
          std::min(most, lead_in_bytes)};
}

void copy_first(const Buffer& source, const Buffer& destination, const std::function<void()>& copy) {
  const auto text = [](const Buffer& buffer) {
    return buffer.where().memory + " memory of " + buffer.where().device.text();
  };
  refusal_is_no_support("the driver does not copy " + text(source) + " to " + text(destination), copy);
}

void settle_caches(const Arenas& arenas) {
  if (arenas.rotation.slots > 1 || !host::can_flush_caches()) return;
  for (Buffer* buffer : {arenas.source, arenas.destination}) {
    if (buffer == nullptr || buffer->where().device.kind != DeviceKind::numa) continue;
    buffer->flush(0, std::min(buffer->bytes(), arenas.rotation.stride));
  }
}

}  // namespace linkscope::gpu
