// Timer: one device's clock, related to the host's steady clock by a handshake.
#pragma once

#include <cstdint>

#include "backend/gpu/vendor.hpp"
#include "base/units.hpp"

namespace linkscope::gpu {

/// A kernel answers host pings with its clock; the exchange with the shortest round trip relates the two, with an
/// error of at most half that round trip. Between handshakes the clock is extrapolated: the tick rate is known the
/// better the longer the first handshake is ago, and the next one is due as soon as extrapolating could be wrong by
/// as much as a handshake. A device's clock may stand still for a while between two readings (%globaltimer of some GPUs
/// for 1 us): the shortest step that it is seen to take is part of the error.
class Timer {
 public:
  /// Calibrates at once. `stream` belongs to the current device, is idle, and outlives the timer.
  explicit Timer(gpuStream_t stream);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  /// Calibrates again where that is due. The device is current, its stream idle.
  void refresh();
  /// Host time of a device stamp.
  [[nodiscard]] Seconds host_time(std::uint64_t ticks) const;
  /// Error of host_time() soon after refresh(): handshake, extrapolation, and the clock's step.
  [[nodiscard]] Seconds uncertainty() const { return 2 * point_.uncertainty + step_; }

  /// Host and kernel share it during a handshake; it is defined with the kernel.
  struct Mailbox;

 private:
  struct Point {
    Seconds host = 0;
    std::uint64_t ticks = 0;
    Seconds uncertainty = 0;
  };
  [[nodiscard]] Seconds shortest_step();
  [[nodiscard]] Point exchange(int rounds);

  gpuStream_t stream_;
  Mailbox* mailbox_ = nullptr;
  Seconds step_ = 0;
  Point first_;
  Point point_;
  double ticks_per_second_;
  double rate_error_;  ///< relative
};

}  // namespace linkscope::gpu
