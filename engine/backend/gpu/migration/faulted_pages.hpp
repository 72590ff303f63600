// FaultedPages: what a page-fault transfer touches, and whether it saw and left what it should.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "backend/gpu/migration/migrating_slots.hpp"
#include "model/pattern.hpp"

namespace linkscope::gpu {

enum class TouchAccess { read, write };

/// The words of a slot that are touched: every one `step` bytes from the last.
struct PageTouch {
  TouchAccess access = TouchAccess::write;
  Bytes bytes = 0;
  Bytes step = sizeof(std::uint64_t);

  [[nodiscard]] constexpr std::uint64_t words() const { return (bytes + step - 1) / step; }
};

/// What a write leaves at the word `index`, where the pattern of `seed` stood.
constexpr std::uint64_t touched_word(std::uint64_t seed, std::uint64_t index) {
  return ~pattern_word(seed, index);
}

/// What the flow's parameters access and touch come to. Throws Error{bad_input} for unknown words.
[[nodiscard]] PageTouch touch_of(const Flow& flow);

/// Slots and their check, for the transfers of CPUs and GPUs alike.
class FaultedPages {
 public:
  FaultedPages(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas);

  [[nodiscard]] const PageTouch& touch() const { return touch_; }
  [[nodiscard]] MigratingSlots& slots() { return slots_; }
  [[nodiscard]] const MigratingSlots& slots() const { return slots_; }
  [[nodiscard]] std::byte* at(std::uint64_t turn) const { return slots_.at(turn); }
  /// The seed of the pattern at at(turn).
  [[nodiscard]] std::uint64_t seed_of(std::uint64_t turn) const {
    return slots_.seed_of(seed_, turn % slots_.count());
  }

  void arm(std::uint64_t seed);
  /// After `done` transfers: reads summed up to `sum`; or writes left their words in every slot they touched, and all
  /// else as it was.
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t done, std::uint64_t sum) const;
  /// Bytes that verify() answers for: the touched words' of reads, whole slots' of writes.
  [[nodiscard]] Bytes verified_bytes(std::uint64_t done) const;

 private:
  [[nodiscard]] std::uint64_t expected_sum(std::uint64_t done) const;
  [[nodiscard]] std::optional<Mismatch> compare_written(std::uint64_t slot) const;

  std::shared_ptr<GpuContext> context_;
  PageTouch touch_;
  MigratingSlots slots_;
  int node_;  ///< whose CPUs check
  std::uint64_t seed_ = 0;
};

/// A page-fault transfer whose executor is a GPU.
[[nodiscard]] std::unique_ptr<Transfer> fault_by_kernel(std::shared_ptr<GpuContext> context, const Flow& flow,
                                                        const Arenas& arenas);

}  // namespace linkscope::gpu
