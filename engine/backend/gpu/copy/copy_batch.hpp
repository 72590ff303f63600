// copy-batch: many buffers in one go.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "backend/gpu/region/region_method.hpp"

namespace linkscope::gpu {

/// `count` buffers of an equal share of the flow's bytes each, which are apart from one another in the arena, as rows
/// of a region. Parameter `api` says how: one call for all (batch), a copy for each (loop), or one kernel (kernel).
/// More than 256 copies cannot wait behind a closed gate: launch cost is inside then, but for a kernel, and for a batch
/// whose one call comes back from a stream that is held.
class CopyBatch final : public RegionMethod {
 public:
  explicit CopyBatch(std::shared_ptr<GpuContext> context)
      : RegionMethod(std::move(context),
                     {"copy-batch",
                      "copies many buffers by one call (cudaMemcpyBatchAsync), a call each, or a kernel"}) {}

  [[nodiscard]] Support supports(const Flow& flow) const override;

 protected:
  [[nodiscard]] Region region(const Flow& flow) const override;
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

}  // namespace linkscope::gpu
