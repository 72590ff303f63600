// copy-engine: the DMA engines, by cudaMemcpyAsync or hipMemcpyAsync.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "backend/gpu/gpu_method.hpp"

namespace linkscope::gpu {

/// The executor is the device of the stream. Between two GPUs, parameter peer_access says whether the copy may go
/// straight (on) or the driver stages it through host memory (off); it is switched for both devices of the pair when
/// the flow is prepared. Copies of pageable or managed memory, staged ones and synchronous calls keep the calling
/// thread busy: such a lane is enqueued after the gate has opened, by a thread of its own, and its span holds that
/// cost. A synchronous call runs on the default stream; where it may return before the bytes are there (between two
/// places on GPUs, out of staged memory) the stream is waited for as well, which is inside the span.
class CopyEngine final : public GpuMethod {
 public:
  explicit CopyEngine(std::shared_ptr<GpuContext> context)
      : GpuMethod(std::move(context),
                  {"copy-engine", "copies by the DMA engines (cudaMemcpyAsync, hipMemcpyAsync)",
                   Quantity::bandwidth, copy_engine_traits}) {}

  [[nodiscard]] Support supports(const Flow& flow) const override;

 protected:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

}  // namespace linkscope::gpu
