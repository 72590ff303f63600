// The handshake that relates a device's clock to the host's.
#include "backend/gpu/gate/timer.hpp"

#include <algorithm>
#include <atomic>
#include <new>

#include "backend/gpu/vendor/check.hpp"
#include "base/steady_clock.hpp"

namespace linkscope::gpu {

struct Timer::Mailbox {
  alignas(128) std::uint64_t ping;
  alignas(128) std::uint64_t pong;
  std::uint64_t ticks;
  std::uint64_t step;
};

namespace {

constexpr int first_rounds = 100;
constexpr int later_rounds = 24;
constexpr double nominal_rate_error = 1e-4;   // a quartz against a quartz, and to spare
constexpr double smallest_rate_error = 2e-6;  // the system slews its clock, quartzes warm up
constexpr Seconds give_up_after = 5.0;

/// Answers pings 1..rounds, each with the device's clock as it was seen. Leaves on its own after `timeout` ticks.
__global__ void answer_pings(Timer::Mailbox* mailbox, std::uint64_t rounds, std::uint64_t timeout) {
  const std::uint64_t begin = vendor::device_ticks();
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    while (vendor::load_acquire_system(&mailbox->ping) < round) {
      if (vendor::device_ticks() - begin > timeout) return;
    }
    mailbox->ticks = vendor::device_ticks();
    vendor::store_release_system(&mailbox->pong, round);
  }
}

/// Looks at the device's clock until it has changed often enough to know its step, or for so many readings.
__global__ void find_step(Timer::Mailbox* mailbox) {
  constexpr int enough_changes = 64;
  constexpr int most_readings = 1 << 20;
  std::uint64_t shortest = ~std::uint64_t{0};
  std::uint64_t before = vendor::device_ticks();
  for (int changes = 0, reading = 0; changes < enough_changes && reading < most_readings; ++reading) {
    const std::uint64_t now = vendor::device_ticks();
    if (now == before) continue;
    if (now - before < shortest) shortest = now - before;
    before = now;
    ++changes;
  }
  mailbox->step = shortest;
}

}  // namespace

Timer::Timer(gpuStream_t stream)
    : stream_(stream), ticks_per_second_(vendor::ticks_per_second), rate_error_(nominal_rate_error) {
  void* memory = nullptr;
  LINKSCOPE_CHECK(gpuHostAlloc(&memory, sizeof(Mailbox), gpuHostAllocPortable | gpuHostAllocMapped));
  mailbox_ = new (memory) Mailbox{};
  try {
    step_ = shortest_step();
    static_cast<void>(exchange(1));  // loads the kernel
    first_ = point_ = exchange(first_rounds);
  } catch (...) {
    static_cast<void>(gpuFreeHost(mailbox_));
    throw;
  }
}

Timer::~Timer() { static_cast<void>(gpuFreeHost(mailbox_)); }

void Timer::refresh() {
  if ((steady_seconds() - point_.host) * rate_error_ < point_.uncertainty) return;
  point_ = exchange(later_rounds);
  const Seconds baseline = point_.host - first_.host;
  const double rate_error =
      std::max((first_.uncertainty + point_.uncertainty) / baseline, smallest_rate_error);
  if (rate_error > rate_error_) return;
  rate_error_ = rate_error;
  ticks_per_second_ = static_cast<double>(point_.ticks - first_.ticks) / baseline;
}

Seconds Timer::host_time(std::uint64_t ticks) const {
  return point_.host +
         static_cast<double>(static_cast<std::int64_t>(ticks - point_.ticks)) / ticks_per_second_;
}

Seconds Timer::shortest_step() {
  find_step<<<1, 1, 0, stream_>>>(mailbox_);
  LINKSCOPE_CHECK(gpuGetLastError());
  LINKSCOPE_CHECK(gpuStreamSynchronize(stream_));
  return static_cast<double>(mailbox_->step) / vendor::ticks_per_second;
}

Timer::Point Timer::exchange(int rounds) {
  std::atomic_ref<std::uint64_t> ping(mailbox_->ping);
  std::atomic_ref<std::uint64_t> pong(mailbox_->pong);
  ping = 0;
  pong = 0;
  answer_pings<<<1, 1, 0, stream_>>>(mailbox_, static_cast<std::uint64_t>(rounds),
                                     static_cast<std::uint64_t>(give_up_after * vendor::ticks_per_second));
  LINKSCOPE_CHECK(gpuGetLastError());
  Point best;
  best.uncertainty = give_up_after;
  for (std::uint64_t round = 1; round <= static_cast<std::uint64_t>(rounds); ++round) {
    const Seconds sent = steady_seconds();
    ping.store(round, std::memory_order_release);
    while (pong.load(std::memory_order_acquire) < round) {
      if (steady_seconds() - sent > 2 * give_up_after) {
        LINKSCOPE_CHECK(gpuStreamSynchronize(stream_));
        throw Error(Fault::broken, "a GPU did not answer the clock handshake");
      }
    }
    const Seconds answered = steady_seconds();
    const Seconds uncertainty = (answered - sent) / 2;
    if (uncertainty < best.uncertainty) best = {sent + uncertainty, mailbox_->ticks, uncertainty};
  }
  LINKSCOPE_CHECK(gpuStreamSynchronize(stream_));
  return best;
}

}  // namespace linkscope::gpu
