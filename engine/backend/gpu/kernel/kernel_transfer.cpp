// Launch shapes of kernel transfers.
#include "backend/gpu/kernel/kernel_transfer.hpp"

#include <algorithm>

namespace linkscope::gpu {
namespace {

/// Shapes with streaming accesses are left out where a cache would serve them, which a tuning pass would take for
/// speed. In the executor's own memory lines that ask to be evicted first push one another out, so that a part of a
/// rotated arena stays in the last-level cache. And streaming loads are kept by first-level caches: repeats of one
/// small slot would be served there, whatever the link.
std::vector<LaunchShape> offered_shapes(const GpuProperties& device, const Flow& flow, const Arenas& arenas,
                                        const ThreadDemand& work) {
  std::vector<LaunchShape> shapes = shapes_for(device, work.threads, flow.parameters);
  const bool repeats_small_slot = arenas.rotation.slots == 1 && work.span <= device.l2_bytes;
  if (shapes.size() > 1 && (is_local(flow) || repeats_small_slot))
    std::erase_if(shapes, [](const LaunchShape& shape) { return shape.access == Access::streaming; });
  return shapes;
}

}  // namespace

KernelTransfer::KernelTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas)
    : KernelTransfer(std::move(context), flow, arenas,
                     {flow.bytes, std::max<Bytes>(flow.bytes / vector_bytes, 1)}) {}

KernelTransfer::KernelTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas,
                               const ThreadDemand& work)
    : SweepTransfer(std::move(context), flow, arenas, work.span), threads_(work.threads) {
  const auto shapes = offered_shapes(this->context().device(device()), flow, arenas, work);
  shape_ = shapes.front();
  own_facts().offer(shapes);
}

dim3 KernelTransfer::grid_of(const Sweep& sweep, const LaunchShape& shape) {
  return {shape.blocks, sweep.order == Order::tiles ? static_cast<unsigned>(sweep.repeats) : 1U, 1U};
}

void KernelTransfer::run(gpuStream_t stream, const Sweep& sweep) {
  if (shape_.blocks != one_tile_each) {
    launch(stream, sweep, shape_);
    return;
  }
  constexpr std::uint64_t most_repeats = 65535;  // of a grid's second dimension
  const LaunchShape shape = with_a_block_per_tile(shape_, threads_);
  Sweep part = sweep;
  part.order = Order::tiles;
  for (std::uint64_t done = 0; done < sweep.repeats; done += part.repeats) {
    part.first = (sweep.first + done) % sweep.slots;
    part.repeats = std::min(sweep.repeats - done, most_repeats);
    launch(stream, part, shape);
  }
}

}  // namespace linkscope::gpu
