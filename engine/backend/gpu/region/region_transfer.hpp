// RegionTransfer: what the methods that move a region have in common.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/gpu/copy/copy_path.hpp"
#include "backend/gpu/gpu_method.hpp"
#include "backend/gpu/kernel/grid.hpp"
#include "backend/gpu/kernel/sweep_transfer.hpp"
#include "model/region.hpp"

namespace linkscope::gpu {

/// The row of a method that moves, for each flow, the region that `shape` says, from one place to the like place of an
/// allocation of the same shape. Rotated flows of sparse rows cycle through more memory, as rotation_spread() has it.
/// Where the planes have room for as many slots as it takes, each slot is in the rows below the last one's, and slots
/// hold as much payload as those of dense flows: whole footprints would outgrow memory.
[[nodiscard]] Method region_row(const std::shared_ptr<GpuContext>& context, const MethodSpec& spec,
                                std::vector<Parameter> parameters, Region (*shape)(const Flow&),
                                AskGpus supports, MakeTransfer make);

/// The CopyCheck of a region that is alike in every slot of both ends (footprint after footprint, or stacked: row after
/// row in the same planes). After the transfer its bytes hold the source's pattern, each at its own place, and those
/// between them are still poison. Kernels of the destination's GPU compare, so that checking never opens peer access;
/// kernels of the executor compare host memory, in pieces copied to the GPU where they cannot reach it. Throws
/// Error{bad_input} unless both arenas hold their slots, and these do not overlap.
[[nodiscard]] std::unique_ptr<Check> region_check(const std::shared_ptr<GpuContext>& context, int executor,
                                                  const Arenas& arenas, const Region& region);

/// Moves one region per slot.
class RegionTransfer : public GpuTransfer {
 public:
  RegionTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas,
                 const Region& region);

  [[nodiscard]] int device() const override { return device_; }
  void enqueue(gpuStream_t stream, std::uint64_t repeats) final;
  void arm(std::uint64_t seed) override;
  [[nodiscard]] std::vector<std::string> notes() const override { return arenas_.residences(); }

 protected:
  /// Enqueues the region of `repeats` slots, from slot `first` on, round and round.
  virtual void run(gpuStream_t stream, std::uint64_t first, std::uint64_t repeats) = 0;

  /// Calls `copy` with the byte offset of each of run()'s slots in turn.
  template <class Copy>
  void for_each_slot(std::uint64_t first, std::uint64_t repeats, const Copy& copy) const {
    for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) {
      copy((first + repeat) % arenas_.rotation.slots * arenas_.rotation.stride);
    }
  }
  [[nodiscard]] GpuContext& context() const { return *context_; }
  [[nodiscard]] const Arenas& arenas() const { return arenas_; }
  [[nodiscard]] const Region& region() const { return region_; }

 private:
  std::shared_ptr<GpuContext> context_;
  int device_;
  Arenas arenas_;
  Region region_;
};

/// A region transfer by calls of the driver, `commands` for each region. Between GPUs they take the way that parameter
/// peer_access opens. They are enqueued behind an open gate where the driver stages, or where a queue could not hold
/// them all.
class DriverRegionTransfer : public RegionTransfer {
 public:
  DriverRegionTransfer(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas,
                       const Region& region, std::uint64_t commands);

  [[nodiscard]] Enqueue enqueueing() const override { return enqueueing_; }
  void lead_in(gpuStream_t stream) override;
  [[nodiscard]] std::vector<std::string> notes() const override;

 protected:
  /// The driver may set up staging on the first copy of a kind: that must not happen behind a closed gate. Called by
  /// constructors, as their last step.
  void run_once();
  /// Constructors call it where they find out that no queue holds the calls of one region.
  void enqueue_behind_open_gate();

 private:
  Enqueue enqueueing_;
  PeerHold path_;
  LeadIn lead_in_;
};

/// Adds the parameters by which a plan fixes a grid of plain_grid_numbers.
[[nodiscard]] std::vector<Parameter> with_grid(std::vector<Parameter> parameters);
/// Grids of plain_grid_numbers worth trying on `device`, best guess first; parameters fix one instead. Throws
/// Error{bad_input} for what is no grid.
std::vector<Grid> region_grids(const GpuProperties& device, const Parameters& parameters);

/// A region transfer by kernels of the executor, all repeats in one launch.
class KernelRegionTransfer final : public RegionTransfer {
 public:
  KernelRegionTransfer(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas,
                       const Region& region);

  void use(const Setting& setting) override { grids_.use(setting); }

 private:
  void run(gpuStream_t stream, std::uint64_t first, std::uint64_t repeats) override;

  PeerMapping source_;
  PeerMapping destination_;
  Sweep sweep_;
  GridChoice grids_;
};

}  // namespace linkscope::gpu
