// kernel-strided: threads load a region and store it to its like place.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/gpu/kernel/sweep_transfer.hpp"
#include "backend/gpu/region/region_method.hpp"

namespace linkscope::gpu {

/// The executor may be the source's GPU (push), the destination's (pull) or any that reaches both.
class KernelStrided final : public RegionMethod {
 public:
  explicit KernelStrided(std::shared_ptr<GpuContext> context)
      : RegionMethod(
            std::move(context),
            {"kernel-strided", "copies a region by a kernel, straight from strided to strided memory"}) {}

  [[nodiscard]] Support supports(const Flow& flow) const override;

 protected:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

/// Blocks of a grid, and threads in each.
struct RegionGrid {
  unsigned blocks = 1;
  unsigned threads = 128;  ///< a multiple of 128

  [[nodiscard]] Setting setting() const { return {{"blocks", blocks}, {"threads", threads}}; }
};

/// Grids worth trying on `device`, best guess first; parameters blocks and threads fix one instead. Throws
/// Error{bad_input} for what is no grid.
std::vector<RegionGrid> region_grids(const GpuProperties& device, const Parameters& parameters);
/// What those parameters mean, for the catalog.
std::map<std::string, std::string> grid_parameters();

/// A region transfer by kernels of the executor, all repeats in one launch.
class KernelRegionTransfer final : public RegionTransfer {
 public:
  KernelRegionTransfer(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas,
                       const Region& region);

  void use(const Setting& setting) override;

 private:
  void run(gpuStream_t stream, std::uint64_t first, std::uint64_t repeats) override;

  PeerMapping source_;
  PeerMapping destination_;
  Sweep sweep_;
  RegionGrid grid_;
};

}  // namespace linkscope::gpu
