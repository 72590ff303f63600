// LaneGroup: the lanes of one start that one thread enqueues, and when it does.
#pragma once

#include <cstdint>
#include <exception>
#include <mutex>
#include <vector>

#include "backend/gpu/gate/lane.hpp"
#include "backend/gpu/streams.hpp"
#include "backend/gpu/transfer.hpp"
#include "model/flow.hpp"

namespace linkscope::gpu {

/// The first failure of a start; what follows from that is not told.
class FirstFailure {
 public:
  void keep(std::exception_ptr failure) noexcept;
  [[nodiscard]] bool any() const;
  /// Throws it, if there is one.
  void rethrow() const;

 private:
  mutable std::mutex mutex_;
  std::exception_ptr failure_;
};

/// One transfer's lane, or the lanes of all GPUs for which one thread enqueues a MultiGpuWork. Lives for one start:
/// start(), settle(), the gate opens, finish(), spans().
class LaneGroup {
 public:
  /// A start asks this of the group.
  struct StartSpec {
    Clock clock = Clock::device;
    std::uint64_t repeats = 1;
    std::uint64_t tail = 0;
    std::uint64_t round = 0;
  };

  /// All outlive the group. Of transfers that share work, `transfer` is any.
  LaneGroup(GpuContext& context, GateFlag& flag, FirstFailure& failure, GpuTransfer& transfer,
            const StartSpec& spec);
  /// Ends what is going on. The flag is open by then.
  ~LaneGroup();
  LaneGroup(const LaneGroup&) = delete;
  LaneGroup& operator=(const LaneGroup&) = delete;

  [[nodiscard]] const StartSpec& spec() const { return spec_; }
  [[nodiscard]] const MultiGpuWork* shared_work() const { return shared_work_; }
  [[nodiscard]] std::size_t size() const { return lanes_.size(); }
  /// Adds a GPU's lane; its place among the spans. Clock::device: `timer` is its device's, else null.
  std::size_t add(GpuLane& lane, const Timer* timer);
  /// The place of the lane on `device`, or size() where there is none.
  [[nodiscard]] std::size_t place_of(int device) const;

  /// Starts all enqueueing that can be done before the gate opens, here or on a thread; the rest waits for the opening
  /// on one. What fails is kept in the start's FirstFailure, here and later.
  void start();
  /// Waits until what a thread enqueues before the gate opens is enqueued.
  void settle();
  /// Waits for the end of all work.
  void finish() noexcept;
  /// One per lane. On the host's clocks each begins with the call of the thread that makes it and ends when its own
  /// stream is seen idle, whether a thread calls for one GPU or for all: so launch modes compare.
  [[nodiscard]] std::vector<Span> spans() const;

 private:
  /// When a thread's job begins.
  enum class Begin { at_once, when_open };

  void run_on_thread(Begin begin, void (LaneGroup::*job)());
  void join() noexcept;
  /// Gate kernels, stamps and transfers, in stream order.
  void enqueue_gated();
  void run_on_host_clock();
  /// When each lane was done.
  std::vector<Seconds> call_and_complete(std::uint64_t times);
  void enqueue(std::uint64_t repeats);
  std::vector<Seconds> wait_for_streams();
  void fail() noexcept;

  GpuContext& context_;
  GateFlag& flag_;
  FirstFailure& failure_;
  GpuTransfer& transfer_;
  MultiGpuWork* shared_work_;
  StartSpec spec_;
  std::vector<GpuLane*> lanes_;
  std::vector<const Timer*> timers_;
  std::vector<DeviceStream> streams_;
  Begin begin_ = Begin::when_open;
  bool threaded_ = false;
  std::vector<Span> host_spans_;  ///< on the host's clocks
};

}  // namespace linkscope::gpu
