// RegionCheck: arms and verifies the memory of transfers that move a region.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "backend/gpu/context.hpp"
#include "model/method.hpp"
#include "model/region.hpp"

namespace linkscope::gpu {

/// As CopyCheck, for a region that is alike in every slot of both ends (footprint after footprint, or stacked: row
/// after row in the same planes): its bytes hold the source's pattern after the transfer, each at its own place, and
/// those between them are still poison. Compared by kernels of the destination's GPU, so that checking never opens peer
/// access, or of the executor for host memory: where they cannot reach that, in pieces copied to the GPU.
class RegionCheck {
 public:
  /// Throws Error{bad_input} unless both arenas hold their slots, and these do not overlap.
  RegionCheck(std::shared_ptr<GpuContext> context, int executor, const Arenas& arenas, const Region& region);

  void arm(std::uint64_t seed) const;
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed, std::uint64_t slots_touched) const;
  /// Bytes that verify(..., slots_touched) compares, those between the region's included.
  [[nodiscard]] Bytes verified_bytes(std::uint64_t slots_touched) const;
  void flush() const;

 private:
  [[nodiscard]] Bytes extent() const;
  [[nodiscard]] bool is_stacked() const;
  /// First bad offset from `at` on, where `region` is.
  [[nodiscard]] std::optional<Bytes> compare(Bytes at, const Region& region, std::uint64_t seed) const;
  [[nodiscard]] std::optional<Bytes> compare_copied(const std::byte* at, const Region& region,
                                                    std::uint64_t seed) const;
  [[nodiscard]] Mismatch describe(std::uint64_t slot, const Region& region, Bytes offset) const;

  std::shared_ptr<GpuContext> context_;
  int device_;  ///< that compares
  Arenas arenas_;
  Region region_;
};

}  // namespace linkscope::gpu
