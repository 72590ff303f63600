// GpuPackers: makes the packers of ranks whose memory is on a GPU.
#pragma once

#include <memory>
#include <utility>

#include "backend/gpu/memory/runtime_allocation.hpp"
#include "backend/gpu/packing/gpu_packer.hpp"
#include "model/packer.hpp"

namespace linkscope::gpu {

class GpuPackers final : public PackerFactory {
 public:
  /// `calls`: of the catalog's memories, with which messages are allocated one by one.
  GpuPackers(std::shared_ptr<GpuContext> context, RuntimeCallTable calls)
      : context_(std::move(context)), calls_(std::move(calls)) {}

  /// Whether there is a GPU among the two whose kernels reach both; it is the state's where that is on one.
  [[nodiscard]] Support supports(const Endpoint& state, const Endpoint& buffers) const;
  /// Throws Error{unsupported} where supports() says no.
  [[nodiscard]] std::unique_ptr<GpuPacker> gpu_packer(const Endpoint& state, const Endpoint& buffers) const;
  [[nodiscard]] std::unique_ptr<Packer> packer(const Endpoint& state, const Endpoint& buffers) override {
    return gpu_packer(state, buffers);
  }

 private:
  std::shared_ptr<GpuContext> context_;
  RuntimeCallTable calls_;
};

}  // namespace linkscope::gpu
