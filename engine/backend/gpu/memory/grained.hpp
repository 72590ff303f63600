// fine-grained and coarse-grained: AMD's choice of when memory is coherent.
#pragma once

#include <memory>
#include <utility>

#include "backend/gpu/memory/gpu_memory.hpp"

namespace linkscope::gpu {

enum class Grain { fine, coarse };

/// Fine: coherent while kernels run. Coarse: at their ends. On the host page-locked memory, on a GPU its own; plain device
/// memory is coarse-grained there.
class GrainedMemory final : public GpuMemory {
 public:
  GrainedMemory(std::shared_ptr<GpuContext> context, Grain grain)
      : GpuMemory(std::move(context)), grain_(grain) {}

  [[nodiscard]] std::string_view name() const override {
    return grain_ == Grain::fine ? "fine-grained" : "coarse-grained";
  }
  [[nodiscard]] std::string_view summary() const override {
    return grain_ == Grain::fine ? "AMD: host or GPU memory that is coherent while kernels run"
                                 : "AMD: host or GPU memory that is coherent when kernels have ended";
  }
  [[nodiscard]] Support available() const override;
  [[nodiscard]] Support supports(const Endpoint& where) const override;
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override;

 private:
  Grain grain_;
};

}  // namespace linkscope::gpu
