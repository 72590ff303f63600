// Rotation, slots and queues of transfers that move a region.
#include "backend/gpu/region/region_transfer.hpp"

#include <algorithm>
#include <utility>

#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {
namespace {

/// Says whether slots are in one another's planes; `dense`: bytes through which a dense flow cycles.
bool stacks(const Region& shape, Bytes dense) {
  const bool starts_at_vectors = shape.rows * shape.pitch % vector_bytes == 0;
  return dense > 0 && shape.planes > 1 && starts_at_vectors && shape.stackable() > 1 &&
         shape.stackable() * shape.payload() >= dense;
}

Bytes slot_stride(const Region& shape, Bytes dense) {
  return stacks(shape, dense) ? shape.rows * shape.pitch : shape.footprint();
}

}  // namespace

Method region_row(const std::shared_ptr<GpuContext>& context, const MethodSpec& spec,
                  std::vector<Parameter> parameters, Region (*shape)(const Flow&), AskGpus supports,
                  MakeTransfer make) {
  Method row = stream_row(context, spec, std::move(parameters), std::move(supports), std::move(make));
  row.footprint = [shape](const Flow& flow) { return shape(flow).footprint(); };
  row.slot_stride = [shape, context](const Flow& flow) {
    return slot_stride(shape(flow), stream_rotation(*context, flow));
  };
  row.rotation_bytes = [shape, context](const Flow& flow) {
    const Region region = shape(flow);
    const Bytes dense = stream_rotation(*context, flow);
    if (!stacks(region, dense))
      return dense * rotation_spread(region.width, region.plane_pitch / region.rows);
    return (dense + region.payload() - 1) / region.payload() * slot_stride(region, dense);
  };
  return row;
}

RegionTransfer::RegionTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas,
                               const Region& region, RowPlaces places)
    : context_(std::move(context)),
      device_(flow.executor.index),
      arenas_(arenas),
      region_(region),
      places_(std::move(places)) {
  set_check(region_check(context_, device_, arenas, region, places_));
}

void RegionTransfer::enqueue(gpuStream_t stream, std::uint64_t repeats) {
  run(stream, transfers() % arenas_.rotation.slots, repeats);
  count(repeats);
}

void RegionTransfer::arm(std::uint64_t seed) {
  GpuTransfer::arm(seed);
  settle_caches(arenas_);
}

DriverRegionTransfer::DriverRegionTransfer(const std::shared_ptr<GpuContext>& context, const Flow& flow,
                                           const Arenas& arenas, const Region& region, std::uint64_t commands,
                                           RowPlaces places)
    : RegionTransfer(context, flow, arenas, region, std::move(places)),
      returns_early_(enqueueing_of_copy(flow) == Enqueue::returns),
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
  copy_first(*arenas().source, *arenas().destination, [&] { run(stream, 0, 1); });
  LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
}

std::vector<Grid> region_grids(const GpuProperties& device, const Parameters& parameters,
                               std::uint64_t useful_threads) {
  const auto processors = static_cast<unsigned>(device.multiprocessors);
  const auto grid = [](unsigned blocks, unsigned threads) {
    return Grid{.blocks = blocks, .threads = threads};
  };
  const Grid first = grid(4 * processors, 512);
  if (const auto fixed = fixed_grid(plain_grid_numbers, first, parameters)) return {*fixed};
  std::vector<Grid> grids;
  for (Grid each : {first, grid(2 * processors, 512), grid(2 * processors, 1024), grid(8 * processors, 256),
                    grid(16 * processors, 128)}) {
    const std::uint64_t needed = useful_threads / each.threads + (useful_threads % each.threads == 0 ? 0 : 1);
    each.blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(needed, 1, each.blocks));
    add_unlike(grids, each);
  }
  return grids;
}

RegionKernel plain_region_kernel(const GpuContext& context, const Flow& flow, std::uint64_t useful_threads) {
  return {{plain_grid_numbers,
           region_grids(context.device(flow.executor.index), flow.parameters, useful_threads)},
          region_copy_kernels(),
          [](gpuStream_t stream, const Sweep& sweep, const Region& region, const Grid& grid,
             const RowPlace* places) { launch_region_copy(stream, sweep, region, region, grid, places); }};
}

KernelRegionTransfer::KernelRegionTransfer(const std::shared_ptr<GpuContext>& context, const Flow& flow,
                                           const Arenas& arenas, const Region& region, RegionKernel kernel,
                                           const RowPlaces& places)
    : RegionTransfer(context, flow, arenas, region, places),
      source_(context->reach(device(), *arenas.source)),
      destination_(context->reach(device(), *arenas.destination)),
      kernel_(std::move(kernel)) {
  kernel_.grids.offer(own_facts());
  sweep_.source = source_.address;
  sweep_.destination = destination_.address;
  sweep_.stride = arenas.rotation.stride;
  sweep_.slots = arenas.rotation.slots;
  context->load(device(), kernel_.kernels);
  if (places.empty()) return;
  std::vector<std::uint64_t> words;
  words.reserve(2 * places.size());
  for (const RowPlace& place : places) words.insert(words.end(), {place.source, place.destination});
  listed_.emplace(*context, device(), words.size()).write(words);
}

void KernelRegionTransfer::run(gpuStream_t stream, std::uint64_t first, std::uint64_t repeats) {
  Sweep sweep = sweep_;
  sweep.first = first;
  sweep.repeats = repeats;
  const auto* const places = listed_ ? reinterpret_cast<const RowPlace*>(listed_->data()) : nullptr;
  kernel_.launch(stream, sweep, region(), kernel_.grids.used(), places);
  LINKSCOPE_CHECK(gpuGetLastError());
}

}  // namespace linkscope::gpu
