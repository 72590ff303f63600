// GpuTransfer: a transfer that one GPU's stream carries.
#pragma once

#include <cstdint>

#include "backend/gpu/facts_of_others.hpp"
#include "backend/gpu/vendor.hpp"
#include "model/transfer.hpp"

namespace linkscope::gpu {

class MultiGpuWork;

/// Says whether the host thread that enqueues may be held up until the work is done.
enum class Enqueue { returns, blocks };

/// The priority of the stream that carries a transfer: the driver's usual one, or its highest.
enum class StreamPriority { normal, high };

/// A transfer that GpuGate starts. All of its kernels are loaded when it exists.
class GpuTransfer : public Transfer {
 public:
  /// The GPU whose stream carries it.
  [[nodiscard]] virtual int device() const = 0;
  /// Enqueues `repeats` transfers back to back, and nothing else. The device is current.
  virtual void enqueue(gpuStream_t stream, std::uint64_t repeats) = 0;
  /// `blocks`: never enqueued behind a closed gate, but by a thread of its own once the gate is open, so that its
  /// spans hold the cost of launching, as they do for every caller of such a transfer.
  [[nodiscard]] virtual Enqueue enqueueing() const { return Enqueue::returns; }
  /// Says whether its calls return before the work is done, wherever they are made: what is recorded or timed until
  /// the return must.
  [[nodiscard]] virtual bool returns_early() const { return enqueueing() == Enqueue::returns; }
  /// What it is a share of, where several GPUs do one piece of work: the gate then calls MultiGpuWork::enqueue() and
  /// not this transfer's.
  [[nodiscard]] virtual MultiGpuWork* shared_work() { return nullptr; }
  /// Says how many transfers have run since arm(), where a graph replays what enqueue() recorded once: what verify()
  /// may depend on.
  virtual void count_as_run(std::uint64_t transfers) { set_transfers(transfers); }
  /// Enqueues a little of the same work before the start stamp: wakes the engine that will carry it.
  virtual void lead_in(gpuStream_t /*stream*/) {}

  [[nodiscard]] StreamPriority priority() const { return priority_; }
  void set_priority(StreamPriority priority) { priority_ = priority; }
  /// 0: it starts when the gate opens. Else each start is of one transfer, which arrives up to so much later.
  [[nodiscard]] Seconds latest_arrival() const { return latest_arrival_; }
  void set_latest_arrival(Seconds latest) {
    latest_arrival_ = latest;
    own_facts().limit(1);
    own_facts().arrives_late = true;
  }

 private:
  StreamPriority priority_ = StreamPriority::normal;
  Seconds latest_arrival_ = 0;
};

}  // namespace linkscope::gpu
