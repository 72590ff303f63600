// RegionMethod: what the methods that move a region have in common.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/gpu/copy/copy_path.hpp"
#include "backend/gpu/gpu_method.hpp"
#include "backend/gpu/region/region_check.hpp"
#include "backend/gpu/transfer.hpp"
#include "model/region.hpp"

namespace linkscope::gpu {

/// From one place to the like place of an allocation of the same shape: parameters `region` and `in`.
class RegionMethod : public GpuMethod {
 public:
  using GpuMethod::GpuMethod;

  [[nodiscard]] Bytes footprint(const Flow& flow) const override { return region(flow).footprint(); }
  /// More where rows are apart, as rotation_spread() has it; slots that are stacked hold as much payload as those of
  /// dense flows.
  [[nodiscard]] Bytes rotation_bytes(const Flow& flow) const override;
  /// Slots are stacked, each in the rows below the last one's, where the planes have room for as many as it takes:
  /// whole footprints would outgrow memory.
  [[nodiscard]] Bytes slot_stride(const Flow& flow) const override;

 protected:
  [[nodiscard]] bool stacks(const Flow& flow) const;
  /// How the flow's bytes are at either end.
  [[nodiscard]] virtual Region region(const Flow& flow) const { return region_of(flow); }
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override {
    return region_parameters();
  }
};

/// Moves one region per slot.
class RegionTransfer : public GpuTransfer {
 public:
  RegionTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas,
                 const Region& region);

  [[nodiscard]] int device() const override { return device_; }
  void enqueue(gpuStream_t stream, std::uint64_t repeats) final;
  void count_as_run(std::uint64_t transfers) override { touched_ = transfers; }
  void arm(std::uint64_t seed) override;
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override;
  [[nodiscard]] Bytes verified_bytes() const override { return check_.verified_bytes(touched_); }
  void flush() override { check_.flush(); }
  [[nodiscard]] std::vector<std::string> notes() const override;

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
  RegionCheck check_;
  std::uint64_t touched_ = 0;
};

/// A region transfer by calls of the driver, `commands` for each region: between GPUs by the way that parameter
/// peer_access opens. Enqueued behind an open gate where the driver stages, or where a queue could not hold it all.
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
  /// For constructors that find out that no queue holds the calls of one region.
  void enqueue_behind_open_gate();

 private:
  Enqueue enqueueing_;
  PeerHold path_;
  LeadIn lead_in_;
};

}  // namespace linkscope::gpu
