// pageable and huge in an engine with GPUs: the host's, and first touched by a GPU where that can be.
#pragma once

#include <memory>
#include <utility>

#include "backend/gpu/memory/gpu_memory.hpp"

namespace linkscope::host {
enum class Pages;
}

namespace linkscope::gpu {

/// Stands for the host's memory of the same name. Placement::first_touch by a GPU asks that its kernels can load and
/// store the system's memory; pages are then where the system puts what that GPU touches. All else is the host's.
class SystemMemory final : public GpuMemory {
 public:
  /// `pages` for what a GPU touches first: `on_host`'s own, from no pool of huge pages, which GPUs may not fault on.
  SystemMemory(std::shared_ptr<GpuContext> context, std::unique_ptr<Memory> on_host, host::Pages pages)
      : GpuMemory(std::move(context), on_host->spec()), on_host_(std::move(on_host)), pages_(pages) {}

  [[nodiscard]] Support available() const override { return on_host_->available(); }
  [[nodiscard]] Support supports(const Endpoint& where) const override;
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override;

 private:
  std::unique_ptr<Memory> on_host_;
  host::Pages pages_;
};

}  // namespace linkscope::gpu
