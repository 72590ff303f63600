// GpuLane: a stream of GpuGate with its gate and its stamps. Timer: one device's clock, related to the host's steady clock
// by a handshake.
#pragma once

#include <cstdint>

#include "backend/gpu/context.hpp"
#include "backend/gpu/vendor.hpp"
#include "backend/host/workers.hpp"
#include "base/units.hpp"
#include "model/transfer.hpp"

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

/// The flag that lanes' gate kernels and threads wait for. In pinned host memory, mapped into every GPU.
class GateFlag {
 public:
  GateFlag();
  ~GateFlag();
  GateFlag(const GateFlag&) = delete;
  GateFlag& operator=(const GateFlag&) = delete;

  /// Opens every round up to `round`.
  void open(std::uint64_t round);
  [[nodiscard]] bool is_open(std::uint64_t round) const;
  [[nodiscard]] const std::uint64_t* address() const { return address_; }

 private:
  std::uint64_t* address_ = nullptr;
};

/// Says whether work without a span follows that which has one.
enum class Tail { none, some };

/// Reused from start to start. Its device is current when its stamps are enqueued.
class GpuLane {
 public:
  /// `stream` belongs to `device`; `worker` is this lane's own. All outlive the lane.
  GpuLane(GpuContext& context, int device, gpuStream_t stream, const GateFlag& flag, host::Worker& worker);
  ~GpuLane();
  GpuLane(const GpuLane&) = delete;
  GpuLane& operator=(const GpuLane&) = delete;

  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] gpuStream_t stream() const { return stream_; }
  /// A thread on the GPU's NUMA node.
  [[nodiscard]] host::Worker& worker() const { return worker_; }

  /// Enqueues a kernel that waits until `round` is open.
  void close(std::uint64_t round);
  /// Enqueues a kernel that waits for a part of `latest`: another in each round, so that all parts are as frequent.
  void arrive_late(Seconds latest);
  /// Enqueue the stamps of a span.
  void stamp_start();
  void stamp_end();
  void stamp_idle();
  /// The span between the stamps, once the stream is idle; `timer` is the device's, calibrated before the gate closed.
  /// What passes between the gate kernel's look at the clock and the event behind that kernel, about 1 us, is taken for
  /// nothing: a lane seems to begin and end that much early. That is alike on all GPUs, so only a lane of CPUs beside
  /// it looks late by that. Throws Error{broken} where the kernel gave up waiting.
  [[nodiscard]] Span span(const Timer& timer, Tail tail) const;

  /// The gate kernel's report, in pinned host memory.
  struct Report;

 private:
  void destroy() noexcept;

  int device_;
  gpuStream_t stream_;
  const GateFlag& flag_;
  host::Worker& worker_;
  std::uint64_t round_ = 0;
  Report* report_ = nullptr;
  gpuEvent_t opened_ = nullptr;
  gpuEvent_t start_ = nullptr;
  gpuEvent_t end_ = nullptr;
  gpuEvent_t idle_ = nullptr;
};

}  // namespace linkscope::gpu
