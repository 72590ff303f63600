// prefetch: managed pages sent where they are wanted, by cudaMemPrefetchAsync or hipMemPrefetchAsync.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "backend/gpu/gpu_method.hpp"

namespace linkscope::gpu {

/// The source is managed memory at home on one device; there is no destination memory, since the pages themselves go:
/// to the executor, a GPU, or, where they are at the executor, to the host. Before every start they are brought home.
/// The call may keep its thread busy: it is enqueued after the gate has opened and the span holds that cost.
class Prefetch final : public GpuMethod {
 public:
  explicit Prefetch(std::shared_ptr<GpuContext> context)
      : GpuMethod(std::move(context),
                  {"prefetch", "managed pages sent ahead (cudaMemPrefetchAsync, hipMemPrefetchAsync)",
                   Quantity::bandwidth, prefetch_traits}) {}

  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] Bytes footprint(const Flow& flow) const override;
  [[nodiscard]] Bytes rotation_bytes(const Flow& flow) const override;

 protected:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
  [[nodiscard]] bool graphable() const override { return false; }
};

}  // namespace linkscope::gpu
