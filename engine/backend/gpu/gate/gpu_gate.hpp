// GpuGate: holds streams of any number of GPUs behind one flag, opens them together and times each.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/host/workers.hpp"
#include "model/transfer.hpp"

namespace linkscope::gpu {

class GpuContext;
class FirstFailure;
class GateFlag;
class GpuLane;
class GpuTransfer;
enum class StreamPriority;
class LaneGroup;
class Timer;

/// Clock::device. Each lane's stream starts with a kernel of one thread that polls a flag in pinned host memory.
/// Behind it are a start event, the transfers and an end event, all enqueued before the gate opens; so launch cost
/// is outside the span. When the kernel sees the flag it stamps the device's clock, which a handshake has related
/// to the host's (Timer): that places the lane on the common timeline. The flag holds the number of the round, so
/// it is never reset under a kernel that still polls. A kernel that waits longer than ten seconds leaves and
/// says so: a host that dies or forgets cannot hang a GPU.
///
/// A stream takes only so many commands (about a thousand) before enqueueing waits for the device, which here would
/// be forever: hence TransferFacts::max_repeats. Transfers whose enqueueing blocks (GpuTransfer::enqueueing) are
/// enqueued in the same way by a thread of their own, after the gate has opened. Transfers that share calls
/// (MultiGpuWork) are enqueued together before it opens: by one thread, or by one for each GPU where the calls may wait
/// for one another.
///
/// Clock::host. A thread per lane, or one for all GPUs of a MultiGpuWork that wants that, on the GPU's NUMA node: call
/// to completion, repeat by repeat, spinning. Clock::batch: the same thread makes all calls in a row and then waits for
/// the last.
///
/// Where part of a MultiGpuWork fails, the rest is told to give up before it is waited for.
class GpuGate : public Gate {
 public:
  explicit GpuGate(std::shared_ptr<GpuContext> context);
  ~GpuGate() override;

  GpuGate(const GpuGate&) = delete;
  GpuGate& operator=(const GpuGate&) = delete;

  [[nodiscard]] Support accepts(const Transfer& transfer) const override;
  void hold(const std::vector<Lane>& lanes, Clock clock) override;
  void open() override;
  std::vector<Span> collect() override;
  [[nodiscard]] Seconds resolution(Clock clock) const override;
  [[nodiscard]] std::vector<Seconds> clock_errors() const override;

 private:
  GpuLane& lane_of(int device, std::size_t ordinal, StreamPriority priority);
  /// The device's timer, calibrated not long ago.
  const Timer& timer_of(int device);
  void assign(const std::vector<Lane>& lanes, Clock clock);
  std::size_t group_for(const Lane& lane, GpuTransfer& transfer, Clock clock);
  host::Worker& worker_for(int device, std::size_t ordinal);
  /// Ends all that is held, whatever comes of it.
  void release() noexcept;

  std::shared_ptr<GpuContext> context_;
  std::unique_ptr<GateFlag> flag_;  ///< made on first use: without a GPU there is none
  std::uint64_t round_ = 0;
  std::map<int, host::WorkerPool> threads_;  ///< by NUMA node
  /// By device, ordinal and priority of the stream.
  std::map<std::tuple<int, std::size_t, StreamPriority>, std::unique_ptr<GpuLane>> pool_;
  std::map<int, std::unique_ptr<Timer>> timers_;  ///< by device
  std::unique_ptr<FirstFailure> failure_;         ///< of the start that is held
  std::vector<std::unique_ptr<LaneGroup>> held_;
  std::vector<std::pair<std::size_t, std::size_t>> places_;  ///< of each lane: its group, and its place there
};

}  // namespace linkscope::gpu
