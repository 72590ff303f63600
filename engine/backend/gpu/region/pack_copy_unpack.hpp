// pack-copy-unpack: a region by way of dense staging buffers.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "backend/gpu/region/strided_copy.hpp"

namespace linkscope::gpu {

/// A kernel on the source's GPU packs the region into a dense buffer there, one copy takes it to a dense buffer on the
/// destination's GPU, a kernel there unpacks it. Copy and the executor's kernel are on the executor's stream; the other
/// GPU's kernel is on a stream of its own, ordered before or behind by events. One region after another: the next is
/// packed when the last has been unpacked.
///
/// Where one end is host memory there is no kernel on that side: the one copy is a 3-D one between the dense buffer on
/// the GPU and the strided host memory. The executor is an end.
class PackCopyUnpack final : public StridedCopy {
 public:
  explicit PackCopyUnpack(std::shared_ptr<GpuContext> context)
      : StridedCopy(std::move(context),
                    {"pack-copy-unpack",
                     "copies a region by a packing kernel, one dense copy and an unpacking kernel"}) {}

  [[nodiscard]] Support supports(const Flow& flow) const override;

 protected:
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

}  // namespace linkscope::gpu
