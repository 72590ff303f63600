// Slots and shapes of kernel transfers.
#include "backend/gpu/kernel_transfer.hpp"

#include <algorithm>

namespace linkscope::gpu {
namespace {

bool is_aligned(const std::byte* address) {
  return reinterpret_cast<std::uintptr_t>(address) % vector_bytes == 0;
}

bool is_local(const Flow& flow) {
  const auto here = [&flow](const std::optional<Endpoint>& end) {
    return !end || end->device == flow.executor;
  };
  return here(flow.source) && here(flow.destination);
}

/// In the executor's own memory lines that ask to be evicted first push one another out: a part of a rotated arena
/// stays in the last-level cache, and a tuning pass would take that for speed.
std::vector<LaunchShape> offered_shapes(const Device& device, const Flow& flow) {
  std::vector<LaunchShape> shapes = shapes_for(device, flow.bytes, flow.parameters);
  if (shapes.size() > 1 && is_local(flow))
    std::erase_if(shapes, [](const LaunchShape& shape) { return shape.access == Access::streaming; });
  return shapes;
}

Sweep sweep_of(Context& context, const Flow& flow, const Arenas& arenas) {
  const int device = flow.executor.index;
  Sweep sweep;
  if (arenas.source != nullptr) sweep.source = context.reach(device, *arenas.source);
  if (arenas.destination != nullptr) sweep.destination = context.reach(device, *arenas.destination);
  sweep.bytes = flow.bytes;
  sweep.stride = arenas.rotation.stride;
  sweep.slots = arenas.rotation.slots;
  const bool aligned = is_aligned(sweep.source) && is_aligned(sweep.destination) &&
                       (sweep.slots == 1 || sweep.stride % vector_bytes == 0);
  sweep.vectors = aligned ? flow.bytes / vector_bytes : 0;
  return sweep;
}

}  // namespace

KernelTransfer::KernelTransfer(std::shared_ptr<Context> context, const Flow& flow, const Arenas& arenas)
    : context_(std::move(context)),
      arenas_(arenas),
      device_(flow.executor.index),
      sweep_(sweep_of(*context_, flow, arenas)),
      check_(arenas.source, arenas.destination, flow.bytes, arenas.rotation),
      shapes_(offered_shapes(context_->device(device_), flow)),
      shape_(shapes_.front()) {}

void KernelTransfer::arm(std::uint64_t seed) {
  check_.arm(seed);
  seed_ = seed;
  touched_ = 0;
}

void KernelTransfer::enqueue(gpuStream_t stream, std::uint64_t repeats) {
  Sweep sweep = sweep_;
  sweep.first = touched_ % sweep_.slots;
  sweep.repeats = repeats;
  launch(stream, sweep, shape_);
  touched_ += repeats;
}

std::vector<Setting> KernelTransfer::candidates() const {
  std::vector<Setting> settings;
  for (const LaunchShape& shape : shapes_) settings.push_back(shape.setting());
  return settings;
}

std::uint64_t KernelTransfer::touched_slots() const { return std::min(touched_, sweep_.slots); }

std::vector<std::string> KernelTransfer::notes() const {
  std::vector<std::string> found;
  for (const Buffer* buffer : {arenas_.source, arenas_.destination}) {
    if (buffer == nullptr) continue;
    if (std::string where = buffer->residence(); !where.empty()) found.push_back(std::move(where));
  }
  return found;
}

}  // namespace linkscope::gpu
