// copy-batch: one call for many buffers, a call for each, or a kernel.
#include <algorithm>
#include <chrono>
#include <future>
#include <vector>

#include "backend/gpu/copy/copy_path.hpp"
#include "backend/gpu/gate/lane.hpp"
#include "backend/gpu/methods.hpp"
#include "backend/gpu/region/region_transfer.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "backend/host/context.hpp"

namespace linkscope::gpu {
namespace {

constexpr Bytes apart = 512;  // at least that much is between two buffers, whose starts are multiples of it
constexpr auto longest_call = std::chrono::milliseconds(20);

constexpr Parameter buffers = integer("count", "buffers per call", 1, 65536, 64);
enum class BatchApi { batch, loop, kernel };
constexpr Parameter batch_api =
    word("api", "batch|loop|kernel",
         "batch: one call for all; loop: an asynchronous copy each; kernel: one kernel for all");

Bytes buffer_count(const Flow& flow) {
  return std::max<Bytes>(static_cast<Bytes>(flow.parameters.number(buffers)), 1);
}

Region batch_of(const Flow& flow) {
  const Bytes count = buffer_count(flow);
  const Bytes each = flow.bytes / count;
  const Bytes pitch = (each + apart - 1) / apart * apart + apart;
  return {each, count, 1, pitch, pitch * count};
}

/// One asynchronous copy for each buffer.
class LoopTransfer final : public DriverRegionTransfer {
 public:
  LoopTransfer(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas,
               const Region& region)
      : DriverRegionTransfer(context, flow, arenas, region, region.rows) {
    run_once();
  }

 private:
  void run(gpuStream_t stream, std::uint64_t first, std::uint64_t repeats) override {
    for_each_slot(first, repeats, [&](Bytes slot) {
      for (std::uint64_t row = 0; row < region().rows; ++row) {
        const Bytes at = slot + region().row_offset(row);
        LINKSCOPE_CHECK(gpuMemcpyAsync(arenas().destination->data() + at, arenas().source->data() + at,
                                       region().width, gpuMemcpyDefault, stream));
      }
    });
  }
};

/// One call for all buffers. How many commands the driver makes of it is not documented: a start counts one for each
/// buffer. With more buffers than a queue has commands, the constructor tries whether a held stream takes the call.
class BatchTransfer final : public DriverRegionTransfer {
 public:
  BatchTransfer(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas,
                const Region& region)
      : DriverRegionTransfer(context, flow, arenas, region, std::min(region.rows, queue_share)),
        sizes_(region.rows, region.width) {
    for (std::uint64_t slot = 0; slot < arenas.rotation.slots; ++slot) {
      for (std::uint64_t row = 0; row < region.rows; ++row) {
        const Bytes at = slot * arenas.rotation.stride + region.row_offset(row);
        sources_.push_back(arenas.source->data() + at);
        destinations_.push_back(arenas.destination->data() + at);
      }
    }
    run_once();
    if (region.rows > queue_share && enqueueing() == Enqueue::returns && !waits_in_stream())
      enqueue_behind_open_gate();
  }

 private:
  void run(gpuStream_t stream, std::uint64_t first, std::uint64_t repeats) override {
    for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) {
      const std::uint64_t at = (first + repeat) % arenas().rotation.slots * region().rows;
      LINKSCOPE_CHECK(vendor::copy_batch(destinations_.data() + at, sources_.data() + at, sizes_.data(),
                                         sizes_.size(), stream));
    }
  }

  /// Tries whether two calls come back from a stream that is held. A start makes one, so it has room to spare.
  bool waits_in_stream() {
    const int node = context().host().topology().nearest_with_cpus(context().device(device()).numa).index;
    const gpuStream_t stream = context().service_stream(device());
    GateFlag gate;
    GpuLane lane(context(), device(), stream, gate, context().host().workers(node).worker(0));
    lane.close(1);
    std::promise<void> came_back;
    // NOLINTNEXTLINE(bugprone-unused-local-non-trivial-variable): its destructor waits for the gate to open
    const auto opener = std::async(std::launch::async, [&gate, back = came_back.get_future()] {
      static_cast<void>(back.wait_for(longest_call));
      gate.open(1);
    });
    run(stream, 0, 2);
    const bool waits = !gate.is_open(1);
    came_back.set_value();
    LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
    return waits;
  }

  std::vector<void*> sources_;  ///< of all slots, one after the other
  std::vector<void*> destinations_;
  std::vector<std::size_t> sizes_;  ///< alike in every slot
};

Support can_batch(const GpuContext& context, const Flow& flow) {
  const Bytes count = buffer_count(flow);
  if (flow.bytes == 0 || flow.bytes % count != 0) {
    return Support::no(std::to_string(flow.bytes) + " bytes are not " + std::to_string(count) +
                       " buffers of one size");
  }
  const auto api = flow.parameters.choice<BatchApi>(batch_api);
  if (api == BatchApi::kernel) return kernels_reach(context, flow, Ends::both);
  if (const Support complete = has_ends(context, flow, Ends::both); !complete) return complete;
  if (api == BatchApi::batch) {
    if (const std::string missing = vendor::no_batch(); !missing.empty()) return Support::no(missing);
  }
  return has_copy_path(context, flow);
}

std::unique_ptr<Transfer> make_batch(const std::shared_ptr<GpuContext>& context, const Flow& flow,
                                     const Arenas& arenas) {
  switch (flow.parameters.choice<BatchApi>(batch_api)) {
    case BatchApi::batch:
      return std::make_unique<BatchTransfer>(context, flow, arenas, batch_of(flow));
    case BatchApi::loop:
      return std::make_unique<LoopTransfer>(context, flow, arenas, batch_of(flow));
    default:
      return std::make_unique<KernelRegionTransfer>(context, flow, arenas, batch_of(flow));
  }
}

}  // namespace

Method copy_batch(const std::shared_ptr<GpuContext>& context) {
  return region_row(
      context,
      {"copy-batch", "copies many buffers by one call (cudaMemcpyBatchAsync), a call each, or a kernel"},
      parameters_of(plain_grid_numbers, {peer_access, buffers, batch_api}), &batch_of, &can_batch,
      &make_batch);
}

}  // namespace linkscope::gpu
