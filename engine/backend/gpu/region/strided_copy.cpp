// The driver's 2-D and 3-D copies.
#include "backend/gpu/region/strided_copy.hpp"

#include "backend/gpu/copy/copy_path.hpp"
#include "backend/gpu/graph/graph_transfer.hpp"
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

class AllPlanes final : public DriverRegionTransfer {
 public:
  AllPlanes(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas,
            const Region& region)
      : DriverRegionTransfer(context, flow, arenas, region, 1), flow_(flow) {
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

}  // namespace

Support pitch_fits(const Region& region) {
  if (region.pitch <= largest_pitch) return Support::yes();
  return Support::no("rows " + format_bytes(region.pitch) +
                     " apart are more than the driver's largest pitch, " + format_bytes(largest_pitch));
}

namespace {

/// Managed memory may be on neither of the two GPUs that the call between them would name.
bool names_both_gpus(const Flow& flow) {
  const bool managed = flow.source->traits.migrates || flow.destination->traits.migrates;
  return between_gpus(flow) && !managed;
}

}  // namespace

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

std::map<std::string, std::string> StridedCopy::own_parameters() const {
  auto all = RegionMethod::own_parameters();
  all.merge(copy_path_parameters());
  return all;
}

Support StridedCopy::supports(const Flow& flow) const {
  if (const Support complete = has_ends(flow, Ends::both); !complete) return complete;
  if (const Support fits = pitch_fits(region(flow)); !fits) return fits;
  return has_copy_path(context(), flow);
}

Support CopyEngine3d::supports(const Flow& flow) const {
  Support support = StridedCopy::supports(flow);
  if (!support || !names_both_gpus(flow) || graph_operations(flow.parameters) == 0) return support;
  return Support::no("a 3-D copy between two GPUs cannot be captured into a graph");
}

std::unique_ptr<Transfer> CopyEngine2d::make(const Flow& flow, const Arenas& arenas) const {
  return std::make_unique<PlaneByPlane>(shared_context(), flow, arenas, region(flow));
}

std::unique_ptr<Transfer> CopyEngine3d::make(const Flow& flow, const Arenas& arenas) const {
  return std::make_unique<AllPlanes>(shared_context(), flow, arenas, region(flow));
}

}  // namespace linkscope::gpu
