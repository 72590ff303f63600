// Waiting awake: spin while that is cheap for others, then let them run.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace linkscope::host {

enum class SpinPolicy {
  own,         ///< the CPU is this thread's own: whoever got it meanwhile would keep it for milliseconds
  spin_first,  ///< the CPU is most likely this thread's own
  yield,       ///< the CPU is shared with a thread that may be the one waited for
};

/// One wait. Unless the CPU is the thread's own, it spins 4,000 times, which is 50 us where a pause takes 40 cycles and
/// 200 us where it takes 140 (Intel since Skylake), and then yields the CPU between looks, so that more waiting threads
/// than CPUs cannot starve the one they wait for.
class Spin {
 public:
  explicit Spin(SpinPolicy policy)
      : yields_(policy != SpinPolicy::own), left_(policy == SpinPolicy::yield ? 0 : spins) {}

  void once() noexcept {
    if (yields_) {
      if (left_ == 0) {
        std::this_thread::yield();
        return;
      }
      --left_;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#elif defined(__powerpc64__)
    asm volatile("or 27, 27, 27" ::: "memory");  // yields the core's resources to its other threads
#endif
  }

 private:
  static constexpr unsigned spins = 4000;
  bool yields_;
  unsigned left_;
};

/// Threads meet; may be used again at once. Costs one cache line's round trip.
class SpinBarrier {
 public:
  explicit SpinBarrier(unsigned threads) : threads_(threads) {}

  void arrive_and_wait(SpinPolicy policy) noexcept {
    const std::uint32_t round = round_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    for (Spin spin(policy); round_.load(std::memory_order_acquire) == round;) spin.once();
  }

 private:
  unsigned threads_;
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> round_{0};
};

}  // namespace linkscope::host
