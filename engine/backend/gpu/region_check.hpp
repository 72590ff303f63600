// RegionCheck: arms and verifies the memory of transfers that move a region.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "backend/gpu/context.hpp"
#include "model/method.hpp"
#include "model/region.hpp"

namespace linkscope::gpu {

/// As CopyCheck, for a region that lies alike in every slot of both ends: its bytes hold the source's pattern after the
/// transfer, each at its own place, and those between them are still poison. Compared by kernels of the destination's
/// GPU, so that checking never opens peer access, or of the executor for host memory: where they cannot reach that, in
/// pieces copied to the GPU.
class RegionCheck {
 public:
  /// Throws Error{bad_input} unless both arenas hold their slots, each of them the region's footprint.
  RegionCheck(std::shared_ptr<Context> context, int executor, const Arenas& arenas, const Region& region);

  void arm(std::uint64_t seed) const;
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed, std::uint64_t slots_touched) const;
  /// Bytes that verify(..., slots_touched) compares, those between the region's included.
  [[nodiscard]] Bytes verified_bytes(std::uint64_t slots_touched) const;
  void flush() const;

 private:
  [[nodiscard]] Bytes extent() const;
  /// First bad offset in the slot.
  [[nodiscard]] std::optional<Bytes> compare(std::uint64_t slot, std::uint64_t seed) const;
  [[nodiscard]] std::optional<Bytes> compare_copied(const std::byte* slot, std::uint64_t seed) const;
  [[nodiscard]] Mismatch describe(std::uint64_t slot, Bytes offset) const;

  std::shared_ptr<Context> context_;
  int device_;  ///< that compares
  Arenas arenas_;
  Region region_;
};

}  // namespace linkscope::gpu
