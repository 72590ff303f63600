// copy-batch: lists of buffers by one call, a call for each, or a kernel.
#include <algorithm>
#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "backend/gpu/copy/copy_path.hpp"
#include "backend/gpu/gate/lane.hpp"
#include "backend/gpu/latency/ring_order.hpp"
#include "backend/gpu/methods.hpp"
#include "backend/gpu/region/region_transfer.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "backend/host/context.hpp"

namespace linkscope::gpu {
namespace {

constexpr Bytes apart = 512;  // at least that much is between two buffers, whose starts are multiples of it
constexpr auto longest_call = std::chrono::milliseconds(20);

constexpr Parameter buffers = integer("count", "buffers per call", 1, 131072, 64);
enum class BatchApi { batch, loop, kernel, bulk, pitched };
constexpr Parameter batch_api =
    word("api", "batch|loop|kernel|bulk|2d",
         "batch: one call for all; loop: an asynchronous copy each; kernel: one kernel for all; bulk: one "
         "kernel's bulk copies (TMA); 2d: one cudaMemcpy2DAsync");
enum class Scattered { no, yes };
constexpr Parameter scatter =
    word("scatter", "no|yes",
         "yes: buffers lie in shuffled order, another at either end, as the blocks of a paged cache do");
constexpr Parameter read_order = word(
    "order", "stream|call|any",
    "with api batch: when sources are read (srcAccessOrder). call and any may read a source before earlier "
    "work of the stream has written it");

Bytes buffer_count(const Flow& flow) {
  return std::max<Bytes>(static_cast<Bytes>(flow.parameters.number(buffers)), 1);
}

Region batch_of(const Flow& flow) {
  const Bytes count = buffer_count(flow);
  const Bytes each = flow.bytes / count;
  const Bytes pitch = (each + apart - 1) / apart * apart + apart;
  return {each, count, 1, pitch, pitch * count};
}

/// Threads that have something to do at once: each holds four vectors, or as many units of a width that vectors do not
/// divide.
std::uint64_t useful_threads(const Flow& flow) {
  const Bytes all = vector_bytes | batch_of(flow).width;
  return flow.bytes / (4 * (all & (~all + 1))) + 1;
}

RowPlaces places_of(const Flow& flow) {
  if (flow.parameters.choice<Scattered>(scatter) == Scattered::no) return {};
  const Region region = batch_of(flow);
  const Scatter from = Scatter::over(region.rows, 1);
  const Scatter to = Scatter::over(region.rows, 2);
  RowPlaces places;
  for (std::uint64_t turn = 0; turn < region.rows; ++turn)
    places.push_back({region.row_offset(from.place(turn)), region.row_offset(to.place(turn))});
  return places;
}

/// One asynchronous copy for each buffer.
class LoopTransfer final : public DriverRegionTransfer {
 public:
  LoopTransfer(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas,
               const Region& region)
      : DriverRegionTransfer(context, flow, arenas, region, region.rows, places_of(flow)) {
    run_once();
  }

 private:
  void run(gpuStream_t stream, std::uint64_t first, std::uint64_t repeats) override {
    for_each_slot(first, repeats, [&](Bytes slot) {
      for (std::uint64_t row = 0; row < region().rows; ++row) {
        const RowPlace at = place(row);
        LINKSCOPE_CHECK(gpuMemcpyAsync(arenas().destination->data() + slot + at.destination,
                                       arenas().source->data() + slot + at.source, region().width,
                                       gpuMemcpyDefault, stream));
      }
    });
  }
};

/// One call for all buffers. How many commands the driver makes of it is not documented: a start counts one for each
/// buffer. With more buffers than a queue has commands, the constructor tries whether a held stream takes the call.
/// Sources that are not read in stream order could be read before the gate opens: the call comes after that.
class BatchTransfer final : public DriverRegionTransfer {
 public:
  BatchTransfer(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas,
                const Region& region)
      : DriverRegionTransfer(context, flow, arenas, region, std::min(region.rows, queue_share),
                             places_of(flow)),
        order_(flow.parameters.choice<vendor::ReadOrder>(read_order)),
        sizes_(region.rows, region.width) {
    for (std::uint64_t slot = 0; slot < arenas.rotation.slots; ++slot) {
      for (std::uint64_t row = 0; row < region.rows; ++row) {
        const Bytes at = slot * arenas.rotation.stride;
        sources_.push_back(arenas.source->data() + at + place(row).source);
        destinations_.push_back(arenas.destination->data() + at + place(row).destination);
      }
    }
    run_once();
    const bool in_order = order_ == vendor::ReadOrder::stream;
    if (enqueueing() == Enqueue::returns && (!in_order || (region.rows > queue_share && !waits_in_stream())))
      enqueue_behind_open_gate();
  }

  [[nodiscard]] std::vector<std::string> notes() const override {
    auto found = DriverRegionTransfer::notes();
    if (order_ != vendor::ReadOrder::stream) {
      found.emplace_back(
          "sources may be read before earlier work of the stream is done: here none of it writes them");
    }
    return found;
  }

 private:
  void run(gpuStream_t stream, std::uint64_t first, std::uint64_t repeats) override {
    for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) {
      const std::uint64_t at = (first + repeat) % arenas().rotation.slots * region().rows;
      LINKSCOPE_CHECK(vendor::copy_batch(destinations_.data() + at, sources_.data() + at, sizes_.data(),
                                         sizes_.size(), order_, stream));
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

  vendor::ReadOrder order_;
  std::vector<void*> sources_;  ///< of all slots, one after the other
  std::vector<void*> destinations_;
  std::vector<std::size_t> sizes_;  ///< alike in every slot
};

/// Tells whether the flow's api reads each number of a grid that the plan sets.
Support reads_numbers(const Flow& flow, BatchApi api) {
  GridNumbers read;
  if (api == BatchApi::bulk) read = bulk_numbers;
  if (api == BatchApi::kernel) read = plain_grid_numbers;
  for (const GridNumber& one : bulk_numbers) {
    const bool is_read = std::any_of(read.begin(), read.end(), [&](const GridNumber& number) {
      return number.parameter.name == one.parameter.name;
    });
    if (!is_read && flow.parameters.sets(one.parameter))
      return Support::no("api " + std::string(batch_api.word_at(static_cast<std::size_t>(api))) +
                         " takes no parameter " + std::string(one.parameter.name));
  }
  return Support::yes();
}

Support can_batch(GpuContext& context, const Flow& flow) {
  const Bytes count = buffer_count(flow);
  if (flow.bytes == 0 || flow.bytes % count != 0) {
    return Support::no(std::to_string(flow.bytes) + " bytes are not " + std::to_string(count) +
                       " buffers of one size");
  }
  const auto api = flow.parameters.choice<BatchApi>(batch_api);
  if (api != BatchApi::batch &&
      flow.parameters.choice<vendor::ReadOrder>(read_order) != vendor::ReadOrder::stream)
    return Support::no("parameter order is of api batch: other copies read in stream order");
  if (const Support read = reads_numbers(flow, api); !read) return read;
  if (api == BatchApi::kernel) return kernels_reach(context, flow, Ends::both);
  if (api == BatchApi::bulk) {
    if (flow.bytes / count % vector_bytes != 0)
      return Support::no("bulk copies (TMA) take multiples of 16 bytes, not buffers of " +
                         std::to_string(flow.bytes / count));
    return takes_bulk(context, flow);
  }
  if (api == BatchApi::pitched && flow.parameters.choice<Scattered>(scatter) == Scattered::yes)
    return Support::no("a 2-D copy needs buffers at a constant distance: scatter no");
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
    case BatchApi::pitched:
      return plane_by_plane(context, flow, arenas, batch_of(flow));
    case BatchApi::bulk:
      return std::make_unique<KernelRegionTransfer>(context, flow, arenas, batch_of(flow),
                                                    bulk_region_kernel(*context, flow, batch_of(flow)),
                                                    places_of(flow));
    default:
      return std::make_unique<KernelRegionTransfer>(context, flow, arenas, batch_of(flow),
                                                    plain_region_kernel(*context, flow, useful_threads(flow)),
                                                    places_of(flow));
  }
}

}  // namespace

Method copy_batch(const std::shared_ptr<GpuContext>& context) {
  return region_row(
      context,
      {"copy-batch", "copies many buffers by one call (cudaMemcpyBatchAsync), a call each, or a kernel"},
      parameters_of(bulk_numbers, {peer_access, buffers, batch_api, scatter, read_order}), &batch_of,
      &can_batch, &make_batch);
}

}  // namespace linkscope::gpu
