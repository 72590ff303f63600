// copy-engine-2d and copy-engine-3d: regions by the driver's own calls.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "backend/gpu/region/region_method.hpp"

namespace linkscope::gpu {

/// As copy-engine, with its parameter peer_access; the region from strided to strided of the same geometry.
class StridedCopy : public RegionMethod {
 public:
  using RegionMethod::RegionMethod;

  [[nodiscard]] Support supports(const Flow& flow) const override;

 protected:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
};

/// One call per plane. A region of more than 256 planes cannot wait behind a closed gate: launch cost is inside then.
class CopyEngine2d final : public StridedCopy {
 public:
  explicit CopyEngine2d(std::shared_ptr<GpuContext> context)
      : StridedCopy(std::move(context),
                    {"copy-engine-2d", "copies a region plane by plane (cudaMemcpy2DAsync, hipMemcpy2DAsync)",
                     Quantity::bandwidth, copy_engine_traits}) {}

 protected:
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

/// One call; between GPUs, with CUDA, the one for peers.
class CopyEngine3d final : public StridedCopy {
 public:
  explicit CopyEngine3d(std::shared_ptr<GpuContext> context)
      : StridedCopy(
            std::move(context),
            {"copy-engine-3d",
             "copies a region in one call (cudaMemcpy3DAsync, cudaMemcpy3DPeerAsync, hipMemcpy3DAsync)",
             Quantity::bandwidth, copy_engine_traits}) {}

  [[nodiscard]] Support supports(const Flow& flow) const override;

 protected:
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

/// Whether the driver takes rows that far apart.
[[nodiscard]] Support pitch_fits(const Region& region);

/// Enqueues one call for a region between two places whose rows may have different pitches.
void copy_3d(gpuStream_t stream, const Flow& flow, std::byte* destination, const Region& to,
             const std::byte* source, const Region& from);

}  // namespace linkscope::gpu
