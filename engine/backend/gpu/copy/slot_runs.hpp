// SlotRun: neighbouring slots of a rotation, so that one call serves them all. Needs no GPU.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace linkscope::gpu {

/// Slots [first, first + count).
struct SlotRun {
  std::uint64_t first = 0;
  std::uint64_t count = 0;

  bool operator==(const SlotRun&) const = default;
};

/// The slots of turns [from, to), each once, where turn t has slot t % slots: a run up to the last slot, and one from the
/// beginning again. A run that is not needed has a count of 0.
[[nodiscard]] constexpr std::array<SlotRun, 2> slot_runs(std::uint64_t from, std::uint64_t to,
                                                         std::uint64_t slots) {
  const std::uint64_t turns = to - from;
  if (turns >= slots) return {SlotRun{0, slots}, SlotRun{}};
  const std::uint64_t first = from % slots;
  const std::uint64_t whole = std::min(turns, slots - first);
  return {SlotRun{first, whole}, SlotRun{0, turns - whole}};
}

}  // namespace linkscope::gpu
