// Rotation, slots and queues of transfers that move a region.
#include "backend/gpu/region/region_method.hpp"

#include "backend/gpu/copy/copy_path.hpp"
#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {
bool RegionMethod::stacks(const Flow& flow) const {
  const Region shape = region(flow);
  const bool starts_at_vectors = shape.rows * shape.pitch % vector_bytes == 0;
  const Bytes dense = GpuMethod::rotation_bytes(flow);
  return dense > 0 && shape.planes > 1 && starts_at_vectors && shape.stackable() > 1 &&
         shape.stackable() * shape.payload() >= dense;
}

Bytes RegionMethod::rotation_bytes(const Flow& flow) const {
  const Region shape = region(flow);
  const Bytes dense = GpuMethod::rotation_bytes(flow);
  if (!stacks(flow)) return dense * rotation_spread(shape.width, shape.plane_pitch / shape.rows);
  return (dense + shape.payload() - 1) / shape.payload() * slot_stride(flow);
}

Bytes RegionMethod::slot_stride(const Flow& flow) const {
  const Region shape = region(flow);
  return stacks(flow) ? shape.rows * shape.pitch : shape.footprint();
}

RegionTransfer::RegionTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas,
                               const Region& region)
    : context_(std::move(context)),
      device_(flow.executor.index),
      arenas_(arenas),
      region_(region),
      check_(context_, device_, arenas, region) {}

void RegionTransfer::enqueue(gpuStream_t stream, std::uint64_t repeats) {
  run(stream, touched_ % arenas_.rotation.slots, repeats);
  touched_ += repeats;
}

void RegionTransfer::arm(std::uint64_t seed) {
  check_.arm(seed);
  settle_caches(arenas_);
  touched_ = 0;
}

std::optional<Mismatch> RegionTransfer::verify(std::uint64_t seed) const {
  return check_.verify(seed, touched_);
}

std::vector<std::string> RegionTransfer::notes() const { return residences(arenas_); }

DriverRegionTransfer::DriverRegionTransfer(const std::shared_ptr<GpuContext>& context, const Flow& flow,
                                           const Arenas& arenas, const Region& region, std::uint64_t commands)
    : RegionTransfer(context, flow, arenas, region),
      enqueueing_(commands > queue_share ? Enqueue::blocks : enqueueing_of_copy(flow)),
      path_(open_copy_path(*context, flow)) {
  if (enqueueing_ == Enqueue::blocks) return;
  own_facts().max_repeats = queue_share / commands;
  lead_in_ = lead_in_of(*context, flow, region.width);
}

void DriverRegionTransfer::lead_in(gpuStream_t stream) {
  if (enqueueing_ == Enqueue::blocks) return;
  LINKSCOPE_CHECK(
      gpuMemcpyAsync(lead_in_.destination, lead_in_.source, lead_in_.bytes, gpuMemcpyDefault, stream));
}

std::vector<std::string> DriverRegionTransfer::notes() const {
  auto found = RegionTransfer::notes();
  if (enqueueing_ == Enqueue::blocks) found.emplace_back(launch_cost_inside);
  return found;
}

void DriverRegionTransfer::enqueue_behind_open_gate() {
  enqueueing_ = Enqueue::blocks;
  own_facts().max_repeats = TransferFacts{}.max_repeats;
}

void DriverRegionTransfer::run_once() {
  context().use(device());
  const gpuStream_t stream = context().service_stream(device());
  refusal_is_no_support(*arenas().source, *arenas().destination, [&] { run(stream, 0, 1); });
  LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
}

}  // namespace linkscope::gpu
