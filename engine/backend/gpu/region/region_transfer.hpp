// RegionTransfer: what the methods that move a region have in common; the kernels that copy and check regions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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

/// Where one row of a list lies in a slot, at either end. Kernels load it at once.
struct alignas(16) RowPlace {
  Bytes source = 0;
  Bytes destination = 0;
};
/// The rows of a region of one plane in the order in which a method takes them, each once at either end; empty: every
/// row at the like place of both.
using RowPlaces = std::vector<RowPlace>;

/// The CopyCheck of a region that is alike in every slot of both ends (footprint after footprint, or stacked: row after
/// row in the same planes). After the transfer its bytes hold the source's pattern, each at its own place or its row at
/// that of `places`, and those between them are still poison. Kernels of the destination's GPU compare, so that checking never opens peer access;
/// kernels of the executor compare host memory, in pieces copied to the GPU where they cannot reach it. Throws
/// Error{bad_input} unless both arenas hold their slots, and these do not overlap.
[[nodiscard]] std::unique_ptr<Check> region_check(const std::shared_ptr<GpuContext>& context, int executor,
                                                  const Arenas& arenas, const Region& region,
                                                  const RowPlaces& places = {});

/// The copy's registers are kept so few that a block may have so many threads.
inline constexpr unsigned most_region_threads = 1024;

/// Launches the copy of `sweep`'s slots, round and round, as one kernel. `from` and `to` have equal widths, rows and
/// planes; the sweep's own bytes and vectors are not looked at. Threads move as many bytes at a time as every row's
/// start and width allow, 16 at most; narrow rows share a warp. `places`: the rows' in the GPU's memory, or null.
void launch_region_copy(gpuStream_t stream, const Sweep& sweep, const Region& from, const Region& to,
                        const Grid& grid, const RowPlace* places = nullptr);
/// Every kernel that launch_region_copy can launch. They are loaded before a gate closes.
std::vector<const void*> region_copy_kernels();

/// The smallest offset in `window` at which a byte of the region is not the pattern of `seed`, or one between them is not
/// poison. The window holds the bytes [first, first + length) of an allocation with `region` at its start. `first` is a
/// multiple of 8 and `window` aligned to 8; `device` reaches it. `origins`: null, or of every row the source's row that
/// it holds, in memory of `device`; the pitch is a multiple of 8 then.
std::optional<Bytes> compare_region(GpuContext& context, int device, const std::byte* window, Bytes first,
                                    Bytes length, const Region& region, std::uint64_t seed,
                                    const std::uint64_t* origins);

/// Moves one region per slot.
class RegionTransfer : public GpuTransfer {
 public:
  RegionTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas,
                 const Region& region, RowPlaces places = {});

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
  /// The place in its slot of the row that comes at `turn`.
  [[nodiscard]] RowPlace place(std::uint64_t turn) const {
    return places_.empty() ? RowPlace{region_.row_offset(turn), region_.row_offset(turn)} : places_[turn];
  }

 private:
  std::shared_ptr<GpuContext> context_;
  int device_;
  Arenas arenas_;
  Region region_;
  RowPlaces places_;
};

/// A region transfer by calls of the driver, `commands` for each region. Between GPUs they take the way that parameter
/// peer_access opens. They are enqueued behind an open gate where the driver stages, or where a queue could not hold
/// them all.
class DriverRegionTransfer : public RegionTransfer {
 public:
  DriverRegionTransfer(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas,
                       const Region& region, std::uint64_t commands, RowPlaces places = {});

  [[nodiscard]] Enqueue enqueueing() const override { return enqueueing_; }
  [[nodiscard]] bool returns_early() const override { return returns_early_; }
  void lead_in(gpuStream_t stream) override;
  [[nodiscard]] std::vector<std::string> notes() const override;

 protected:
  /// The driver may set up staging on the first copy of a kind: that must not happen behind a closed gate. Called by
  /// constructors, as their last step.
  void run_once();
  /// Constructors call it where they find out that no queue holds the calls of one region.
  void enqueue_behind_open_gate();

 private:
  bool returns_early_;
  Enqueue enqueueing_;
  PeerHold path_;
  LeadIn lead_in_;
};

/// One call for each plane of `region`.
std::unique_ptr<Transfer> plane_by_plane(const std::shared_ptr<GpuContext>& context, const Flow& flow,
                                         const Arenas& arenas, const Region& region);

/// Grids of plain_grid_numbers worth trying on `device`, best guess first, none with more blocks than `useful_threads`
/// need; parameters fix one instead. Throws Error{bad_input} for what is no grid.
std::vector<Grid> region_grids(const GpuProperties& device, const Parameters& parameters,
                               std::uint64_t useful_threads = ~std::uint64_t{0});

/// A kernel that copies a region alike at both ends.
struct RegionKernel {
  GridChoice grids;
  std::vector<const void*> kernels;  ///< loaded before a gate closes
  std::function<void(gpuStream_t, const Sweep&, const Region&, const Grid&, const RowPlace*)> launch;
};
/// The kernel of launch_region_copy().
RegionKernel plain_region_kernel(const GpuContext& context, const Flow& flow,
                                 std::uint64_t useful_threads = ~std::uint64_t{0});
/// The bulk copies of kernel-bulk-copy, for a region of one plane whose pitch, width and places are multiples of 16.
RegionKernel bulk_region_kernel(GpuContext& context, const Flow& flow, const Region& region);
/// Says whether bulk copies take the flow's ends.
Support takes_bulk(GpuContext& context, const Flow& flow);

/// A region transfer by kernels of the executor, all repeats in one launch.
class KernelRegionTransfer final : public RegionTransfer {
 public:
  KernelRegionTransfer(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas,
                       const Region& region, RegionKernel kernel, const RowPlaces& places = {});

  void use(const Setting& setting) override { kernel_.grids.use(setting); }

 private:
  void run(gpuStream_t stream, std::uint64_t first, std::uint64_t repeats) override;

  PeerMapping source_;
  PeerMapping destination_;
  Sweep sweep_;
  RegionKernel kernel_;
  std::optional<DeviceWords> listed_;  ///< the places, where there are any
};

}  // namespace linkscope::gpu
