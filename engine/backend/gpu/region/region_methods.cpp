// copy-engine-2d and copy-engine-3d by the driver's own calls, pack-copy-unpack and kernel-strided.
#include <optional>
#include <utility>

#include "backend/gpu/context.hpp"
#include "backend/gpu/copy/copy_path.hpp"
#include "backend/gpu/graph/forms.hpp"
#include "backend/gpu/memory/device_words.hpp"
#include "backend/gpu/methods.hpp"
#include "backend/gpu/region/region_transfer.hpp"
#include "backend/gpu/streams.hpp"
#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {
namespace {

constexpr Bytes largest_pitch = (Bytes{1} << 31U) - 1;  // what both vendors' drivers report as their maximum

class PlaneByPlane final : public DriverRegionTransfer {
 public:
  PlaneByPlane(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas,
               const Region& region)
      : DriverRegionTransfer(context, flow, arenas, region, region.planes) {
    run_once();
  }

 private:
  void run(gpuStream_t stream, std::uint64_t first, std::uint64_t repeats) override {
    const Region& shape = region();
    for_each_slot(first, repeats, [&](Bytes slot) {
      for (std::uint64_t plane = 0; plane < shape.planes; ++plane) {
        const Bytes at = slot + plane * shape.plane_pitch;
        LINKSCOPE_CHECK(gpuMemcpy2DAsync(arenas().destination->data() + at, shape.pitch,
                                         arenas().source->data() + at, shape.pitch, shape.width, shape.rows,
                                         gpuMemcpyDefault, stream));
      }
    });
  }
};

/// Managed memory may be on neither of the two GPUs that the call between them would name.
bool names_both_gpus(const Flow& flow) {
  const bool managed = flow.source->traits.migrates || flow.destination->traits.migrates;
  return between_gpus(flow) && !managed;
}

/// Enqueues one call for a region between two places whose rows may have different pitches.
void copy_3d(gpuStream_t stream, const Flow& flow, std::byte* destination, const Region& to,
             const std::byte* source, const Region& from) {
  gpuMemcpy3DParms parameters{};
  parameters.srcPtr.ptr = const_cast<std::byte*>(source);  // one type serves both ends
  parameters.srcPtr.pitch = from.pitch;
  parameters.srcPtr.xsize = from.width;
  parameters.srcPtr.ysize = from.plane_pitch / from.pitch;
  parameters.dstPtr.ptr = destination;
  parameters.dstPtr.pitch = to.pitch;
  parameters.dstPtr.xsize = to.width;
  parameters.dstPtr.ysize = to.plane_pitch / to.pitch;
  parameters.extent.width = from.width;
  parameters.extent.height = from.rows;
  parameters.extent.depth = from.planes;
  parameters.kind = gpuMemcpyDefault;
  if (names_both_gpus(flow)) {
    LINKSCOPE_CHECK(vendor::copy_3d_between(parameters, flow.source->device.index,
                                            flow.destination->device.index, stream));
  } else {
    LINKSCOPE_CHECK(gpuMemcpy3DAsync(&parameters, stream));
  }
}

class AllPlanes final : public DriverRegionTransfer {
 public:
  AllPlanes(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas)
      : DriverRegionTransfer(context, flow, arenas, region_of(flow), 1), flow_(flow) {
    run_once();
  }

 private:
  void run(gpuStream_t stream, std::uint64_t first, std::uint64_t repeats) override {
    for_each_slot(first, repeats, [&](Bytes slot) {
      copy_3d(stream, flow_, arenas().destination->data() + slot, region(), arenas().source->data() + slot,
              region());
    });
  }

  Flow flow_;
};

/// One region puts at most two kernels, a copy, and two pairs of an event and a wait into streams.
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

/// An end of the flow that is on a GPU: its memory as that GPU sees it, and the dense buffer beside it.
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
  Grid grid;

  [[nodiscard]] std::byte* packed() const { return reinterpret_cast<std::byte*>(dense.data()); }
};

class PackedTransfer final : public DriverRegionTransfer {
 public:
  PackedTransfer(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas)
      : DriverRegionTransfer(context, staged_flow(flow), arenas, region_of(flow), commands_per_region),
        flow_(staged_flow(flow)),
        here_(*context, flow.executor.index, EventReach::process) {
    if (on_gpu(*flow.source)) source_.emplace(*context, flow.source->device.index, *arenas.source, region());
    if (on_gpu(*flow.destination)) {
      destination_.emplace(*context, flow.destination->device.index, *arenas.destination, region());
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

  /// Enqueues `work` on the executor's `stream`, or where `side` is on the other GPU, on that GPU's: it then runs
  /// between what the executor's stream holds before and after.
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

  static void convert(gpuStream_t stream, const Grid& grid, std::byte* from, const Region& from_shape,
                      std::byte* to, const Region& to_shape) {
    Sweep sweep;
    sweep.source = from;
    sweep.destination = to;
    launch_region_copy(stream, sweep, from_shape, to_shape, grid);
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
  StreamEvent here_;  ///< recorded where the other GPU's stream takes over
  std::optional<StreamEvent> there_;
};

Support can_copy_regions(const GpuContext& context, const Flow& flow) {
  if (const Support complete = has_ends(context, flow, Ends::both); !complete) return complete;
  const Region region = region_of(flow);
  if (region.pitch > largest_pitch)
    return Support::no("rows " + format_bytes(region.pitch) +
                       " apart are more than the driver's largest pitch, " + format_bytes(largest_pitch));
  return has_copy_path(context, flow);
}

Support can_copy_in_one_call(const GpuContext& context, const Flow& flow) {
  Support support = can_copy_regions(context, flow);
  if (!support || !names_both_gpus(flow) || flow.parameters.number(recorded_transfers) == 0) return support;
  return Support::no("a 3-D copy between two GPUs cannot be captured into a graph");
}

Support can_pack(const GpuContext& context, const Flow& flow) {
  if (const Support path = can_copy_regions(context, flow); !path) return path;
  bool executor_is_end = false;
  for (const auto& end : {flow.source, flow.destination}) {
    if (!on_gpu(*end)) continue;
    if (const Support reached = context.reachable(end->device.index, *end); !reached) return reached;
    executor_is_end |= end->device == flow.executor;
  }
  if (executor_is_end) return Support::yes();
  return Support::no("pack-copy-unpack is driven by the source's GPU or the destination's");
}

std::unique_ptr<Transfer> make_by_planes(const std::shared_ptr<GpuContext>& context, const Flow& flow,
                                         const Arenas& arenas) {
  return plane_by_plane(context, flow, arenas, region_of(flow));
}

std::unique_ptr<Transfer> make_by_kernel(const std::shared_ptr<GpuContext>& context, const Flow& flow,
                                         const Arenas& arenas) {
  return std::make_unique<KernelRegionTransfer>(context, flow, arenas, region_of(flow),
                                                plain_region_kernel(*context, flow));
}

Support can_copy_by_kernel(const GpuContext& context, const Flow& flow) {
  static_cast<void>(region_of(flow));
  return kernels_reach(context, flow, Ends::both);
}

}  // namespace

std::unique_ptr<Transfer> plane_by_plane(const std::shared_ptr<GpuContext>& context, const Flow& flow,
                                         const Arenas& arenas, const Region& region) {
  return std::make_unique<PlaneByPlane>(context, flow, arenas, region);
}

Method copy_engine_2d(const std::shared_ptr<GpuContext>& context) {
  return region_row(context,
                    {"copy-engine-2d", "copies a region plane by plane (cudaMemcpy2DAsync, hipMemcpy2DAsync)",
                     Quantity::bandwidth, copy_engine_traits},
                    {region_shape, region_container, peer_access}, &region_of, &can_copy_regions,
                    &make_by_planes);
}

Method copy_engine_3d(const std::shared_ptr<GpuContext>& context) {
  return region_row(
      context,
      {"copy-engine-3d",
       "copies a region in one call (cudaMemcpy3DAsync, cudaMemcpy3DPeerAsync, hipMemcpy3DAsync)",
       Quantity::bandwidth, copy_engine_traits},
      {region_shape, region_container, peer_access}, &region_of, &can_copy_in_one_call, &make<AllPlanes>);
}

Method pack_copy_unpack(const std::shared_ptr<GpuContext>& context) {
  return region_row(
      context,
      {"pack-copy-unpack", "copies a region by a packing kernel, one dense copy and an unpacking kernel"},
      {region_shape, region_container, peer_access}, &region_of, &can_pack, &make<PackedTransfer>);
}

Method kernel_strided(const std::shared_ptr<GpuContext>& context) {
  return region_row(context,
                    {"kernel-strided", "copies a region by a kernel, straight from strided to strided memory",
                     Quantity::bandwidth, kernel_traits},
                    parameters_of(plain_grid_numbers, {region_shape, region_container}), &region_of,
                    &can_copy_by_kernel, &make_by_kernel);
}

}  // namespace linkscope::gpu
