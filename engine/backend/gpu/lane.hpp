// GpuLane: one lane of GpuGate: a stream, its gate, its events and what came of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>

#include "backend/gpu/context.hpp"
#include "backend/gpu/transfer.hpp"
#include "backend/host/workers.hpp"
#include "model/flow.hpp"

namespace linkscope::gpu {

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

/// Reused from start to start. hold, then collect once the flag is open.
class GpuLane {
 public:
  /// `stream` belongs to `device`; `worker` is this lane's own. All outlive the lane.
  GpuLane(Context& context, int device, gpuStream_t stream, const GateFlag& flag, host::Worker& worker);
  ~GpuLane();
  GpuLane(const GpuLane&) = delete;
  GpuLane& operator=(const GpuLane&) = delete;

  [[nodiscard]] int device() const { return device_; }
  /// Makes `lane`, whose transfer is `transfer`, ready behind `round`. Clock::device: `timer` is the device's, calibrated
  /// before any gate closed; Clock::host: null.
  void hold(GpuTransfer& transfer, const Lane& lane, const Timer* timer, std::uint64_t round);
  /// Waits for the end. Throws what went wrong.
  Span collect();

  /// What the gate kernel says; in pinned host memory.
  struct Report;

 private:
  /// Gate kernel, events and transfers, in stream order.
  void enqueue_gated();
  void run_on_host_clock();
  /// Runs `job` on the lane's thread once the gate is open, keeping what it throws.
  void start_thread(void (GpuLane::*job)());

  Context& context_;
  int device_;
  gpuStream_t stream_;
  const GateFlag& flag_;
  host::Worker& worker_;
  Report* report_ = nullptr;
  gpuEvent_t opened_ = nullptr;
  gpuEvent_t start_ = nullptr;
  gpuEvent_t end_ = nullptr;
  gpuEvent_t idle_ = nullptr;

  const Timer* timer_ = nullptr;  ///< null: Clock::host
  GpuTransfer* transfer_ = nullptr;
  std::uint64_t repeats_ = 0;
  std::uint64_t tail_ = 0;
  std::uint64_t round_ = 0;
  bool threaded_ = false;
  std::exception_ptr failure_;
  Span host_span_;
};

}  // namespace linkscope::gpu
