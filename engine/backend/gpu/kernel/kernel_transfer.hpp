// KernelTransfer: a sweeping transfer whose launch shape can be chosen.
#pragma once

#include <memory>
#include <vector>

#include "backend/gpu/kernel/launch_shape.hpp"
#include "backend/gpu/kernel/sweep_transfer.hpp"

namespace linkscope::gpu {

/// What one transfer spreads over and how much it gives threads to do.
struct ThreadDemand {
  Bytes span = 0;             ///< as of SweepTransfer
  std::uint64_t threads = 1;  ///< that can have something to do at once
};

class KernelTransfer : public SweepTransfer {
 public:
  /// Contiguous: a slot is flow.bytes, of which every thread takes 16 at a time.
  KernelTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas);
  KernelTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas,
                 const ThreadDemand& work);

  void use(const Setting& setting) override { shape_ = LaunchShape::from(setting); }

 protected:
  /// Launches the kernel over `sweep` with `shape`, of whose blocks there is at least one, and with grid_of() both.
  virtual void launch(gpuStream_t stream, const Sweep& sweep, const LaunchShape& shape) = 0;
  /// `shape.blocks` for all repeats, or where the order is tiles, for each of them.
  [[nodiscard]] static dim3 grid_of(const Sweep& sweep, const LaunchShape& shape);
  void add_shape(const LaunchShape& shape) { own_facts().candidates.push_back(shape.setting()); }

 private:
  void run(gpuStream_t stream, const Sweep& sweep) final;

  std::uint64_t threads_;
  LaunchShape shape_;
};

}  // namespace linkscope::gpu
