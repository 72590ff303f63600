// PartClock: to which part of its work a rank's time goes.
#pragma once

#include <array>
#include <cstddef>

#include "base/steady_clock.hpp"
#include "base/units.hpp"

namespace linkscope::workload {

/// uncounted: what the application computes, and what linkscope itself fills and checks.
enum class WorkPart { allocate, pack, copy, send, wait, unpack, collectives, synchronise, uncounted };
inline constexpr std::array work_part_names{"allocate", "pack",        "copy",        "send",     "wait",
                                            "unpack",   "collectives", "synchronise", "uncounted"};
inline constexpr std::size_t work_parts = work_part_names.size();

/// One stamp ends a part and begins the next, so that all parts together are all of the time.
class PartClock {
 public:
  void restart() {
    seconds_.fill(0);
    last_ = steady_seconds();
  }
  /// All time since the last stamp was `part`.
  void lap(WorkPart part) {
    const Seconds now = steady_seconds();
    seconds_[static_cast<std::size_t>(part)] += now - last_;
    last_ = now;
  }
  /// The same, `copied` of it being copies.
  void lap(WorkPart part, Seconds copied) {
    lap(part);
    seconds_[static_cast<std::size_t>(part)] -= copied;
    seconds_[static_cast<std::size_t>(WorkPart::copy)] += copied;
  }
  /// What counts, so far.
  [[nodiscard]] Seconds counted() const {
    Seconds sum = 0;
    for (std::size_t part = 0; part < static_cast<std::size_t>(WorkPart::uncounted); ++part)
      sum += seconds_[part];
    return sum;
  }
  [[nodiscard]] const std::array<Seconds, work_parts>& seconds() const { return seconds_; }

 private:
  std::array<Seconds, work_parts> seconds_{};
  Seconds last_ = 0;
};

}  // namespace linkscope::workload
