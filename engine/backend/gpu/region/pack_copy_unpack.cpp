#include "backend/gpu/region/pack_copy_unpack.hpp"

#include <optional>

#include "backend/gpu/memory/device_words.hpp"
#include "backend/gpu/region/kernel_strided.hpp"
#include "backend/gpu/region/region_kernels.hpp"
#include "backend/gpu/streams.hpp"
#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {
namespace {

/// Two kernels, a copy, and two pairs of an event and a wait: what one region puts into streams at most.
constexpr std::uint64_t commands_per_region = 8;

bool on_gpu(const Endpoint& end) { return end.device.kind == DeviceKind::gpu; }

/// The flow of the one copy: an end on a GPU is a staging buffer there, whatever memory the region itself is in.
Flow staged_flow(Flow flow) {
  for (auto* end : {&flow.source, &flow.destination}) {
    const Endpoint& own = **end;
    if (on_gpu(own))
      *end =
          Endpoint{own.device, "device", own.placement, own.first_touch, own.advice, own.rank, device_traits};
  }
  return flow;
}

/// One end of the flow that is a GPU's: its memory as that GPU sees it, and the dense buffer beside it.
struct PackedSide {
  PackedSide(GpuContext& context, int on, const Buffer& buffer, const Region& region)
      : device(on),
        strided(context.reach(on, buffer).address),  // its own memory: nothing to keep open
        dense(context, on, (region.payload() + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t)),
        grid(region_grids(context.device(on), {}).front()) {
    context.load(on, region_copy_kernels());
  }

  int device;
  std::byte* strided;
  DeviceWords dense;
  RegionGrid grid;

  [[nodiscard]] std::byte* packed() const { return reinterpret_cast<std::byte*>(dense.data()); }
};

class PackedTransfer final : public DriverRegionTransfer {
 public:
  PackedTransfer(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas,
                 const Region& region)
      : DriverRegionTransfer(context, staged_flow(flow), arenas, region, commands_per_region),
        flow_(staged_flow(flow)),
        here_(*context, flow.executor.index, EventReach::process) {
    if (on_gpu(*flow.source)) source_.emplace(*context, flow.source->device.index, *arenas.source, region);
    if (on_gpu(*flow.destination)) {
      destination_.emplace(*context, flow.destination->device.index, *arenas.destination, region);
    }
    for (const auto* side : {&source_, &destination_}) {
      if (!*side || (*side)->device == device()) continue;
      other_stream_.emplace(*context, (*side)->device);
      there_.emplace(*context, (*side)->device, EventReach::process);
    }
    run_once();
  }

 private:
  void run(gpuStream_t stream, std::uint64_t first, std::uint64_t repeats) override {
    for_each_slot(first, repeats, [&](Bytes slot) {
      if (source_) {
        on_side(*source_, stream, [&](gpuStream_t at) {
          convert(at, source_->grid, source_->strided + slot, region(), source_->packed(), region().packed());
        });
      }
      copy(stream, slot);
      if (destination_) {
        on_side(*destination_, stream, [&](gpuStream_t at) {
          convert(at, destination_->grid, destination_->packed(), region().packed(),
                  destination_->strided + slot, region());
        });
      }
    });
  }

  /// Enqueues `work` on the executor's `stream`, or on the other GPU's where `side` is there, between what the
  /// executor's stream holds before and after.
  template <class Work>
  void on_side(const PackedSide& side, gpuStream_t stream, const Work& work) {
    if (side.device == device()) {
      work(stream);
      return;
    }
    here_.record(stream);
    here_.hold_back(other_stream_->get());
    context().use(side.device);
    work(other_stream_->get());
    context().use(device());
    there_->record(other_stream_->get());
    there_->hold_back(stream);
  }

  static void convert(gpuStream_t stream, const RegionGrid& grid, std::byte* from, const Region& from_shape,
                      std::byte* to, const Region& to_shape) {
    Sweep sweep;
    sweep.source = from;
    sweep.destination = to;
    launch_region_copy(stream, sweep, from_shape, to_shape, grid.blocks, grid.threads);
  }

  void copy(gpuStream_t stream, Bytes slot) {
    if (source_ && destination_) {
      LINKSCOPE_CHECK(gpuMemcpyAsync(destination_->packed(), source_->packed(), region().payload(),
                                     gpuMemcpyDefault, stream));
    } else if (source_) {
      copy_3d(stream, flow_, arenas().destination->data() + slot, region(), source_->packed(),
              region().packed());
    } else {
      copy_3d(stream, flow_, destination_->packed(), region().packed(), arenas().source->data() + slot,
              region());
    }
  }

  Flow flow_;
  std::optional<PackedSide> source_;
  std::optional<PackedSide> destination_;
  std::optional<OwnStream> other_stream_;
  StreamEvent here_;  ///< where the executor's stream goes on elsewhere
  std::optional<StreamEvent> there_;
};

}  // namespace

Support PackCopyUnpack::supports(const Flow& flow) const {
  if (const Support path = StridedCopy::supports(flow); !path) return path;
  bool executor_is_end = false;
  for (const auto& end : {flow.source, flow.destination}) {
    if (!on_gpu(*end)) continue;
    if (const Support reached = context().reachable(end->device.index, *end); !reached) return reached;
    executor_is_end |= end->device == flow.executor;
  }
  if (executor_is_end) return Support::yes();
  return Support::no("pack-copy-unpack is driven by the source's GPU or the destination's");
}

std::unique_ptr<Transfer> PackCopyUnpack::make(const Flow& flow, const Arenas& arenas) const {
  return std::make_unique<PackedTransfer>(shared_context(), flow, arenas, region(flow));
}

}  // namespace linkscope::gpu
