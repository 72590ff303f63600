// The gate kernel, and the stamps behind it; the handshake that relates a device's clock to the host's.
#include "backend/gpu/gate/lane.hpp"

#include <algorithm>
#include <atomic>
#include <new>

#include "backend/gpu/call/call_transfer.hpp"
#include "backend/gpu/gate/arrival.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"
#include "base/steady_clock.hpp"

namespace linkscope::gpu {

struct GpuLane::Report {
  std::uint64_t ticks;    ///< device clock when the gate was seen open
  std::uint64_t expired;  ///< last round in which the kernel gave up
};

struct Timer::Mailbox {
  alignas(128) std::uint64_t ping;
  alignas(128) std::uint64_t pong;
  std::uint64_t ticks;
  std::uint64_t step;
};

namespace {

constexpr Seconds timeout = 10.0;

__global__ void wait_for_opening(const std::uint64_t* flag, std::uint64_t round, GpuLane::Report* report,
                                 std::uint64_t timeout_ticks) {
  const std::uint64_t begin = vendor::device_ticks();
  while (vendor::load_acquire_system(flag) < round) {
    if (vendor::device_ticks() - begin > timeout_ticks) {
      report->expired = round;
      break;
    }
  }
  report->ticks = vendor::device_ticks();
}

template <class T>
T* allocate_shared() {
  void* memory = nullptr;
  LINKSCOPE_CHECK(gpuHostAlloc(&memory, sizeof(T), gpuHostAllocPortable | gpuHostAllocMapped));
  return new (memory) T{};
}

Seconds elapsed(gpuEvent_t from, gpuEvent_t to) {
  float milliseconds = 0;
  LINKSCOPE_CHECK(gpuEventElapsedTime(&milliseconds, from, to));
  return static_cast<Seconds>(milliseconds) * 1e-3;
}

constexpr int first_rounds = 100;
constexpr int later_rounds = 24;
constexpr double nominal_rate_error = 1e-4;   // a quartz against a quartz, and to spare
constexpr double smallest_rate_error = 2e-6;  // the system slews its clock, quartzes warm up
constexpr Seconds give_up_after = 5.0;

/// Answers pings 1..rounds, each with the device's clock as it was seen. Leaves on its own after `timeout_ticks`.
__global__ void answer_pings(Timer::Mailbox* mailbox, std::uint64_t rounds, std::uint64_t timeout_ticks) {
  const std::uint64_t begin = vendor::device_ticks();
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    while (vendor::load_acquire_system(&mailbox->ping) < round) {
      if (vendor::device_ticks() - begin > timeout_ticks) return;
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

GateFlag::GateFlag() : address_(allocate_shared<std::uint64_t>()) {}

GateFlag::~GateFlag() { static_cast<void>(gpuFreeHost(address_)); }

void GateFlag::open(std::uint64_t round) {
  std::atomic_ref<std::uint64_t>(*address_).store(round, std::memory_order_release);
}

bool GateFlag::is_open(std::uint64_t round) const {
  return std::atomic_ref<std::uint64_t>(*address_).load(std::memory_order_acquire) >= round;
}

GpuLane::GpuLane(GpuContext& context, int device, gpuStream_t stream, const GateFlag& flag,
                 host::Worker& worker)
    : device_(device), stream_(stream), flag_(flag), worker_(worker) {
  context.use(device_);
  context.load(device_, {reinterpret_cast<const void*>(&wait_for_opening)});
  context.load(device_, call_kernels());
  report_ = allocate_shared<Report>();
  try {
    for (gpuEvent_t* event : {&opened_, &start_, &end_, &idle_}) LINKSCOPE_CHECK(gpuEventCreate(event));
  } catch (...) {
    destroy();
    throw;
  }
}

GpuLane::~GpuLane() {
  static_cast<void>(gpuSetDevice(device_));
  destroy();
}

void GpuLane::destroy() noexcept {
  for (gpuEvent_t event : {opened_, start_, end_, idle_}) {
    if (event != nullptr) static_cast<void>(gpuEventDestroy(event));
  }
  static_cast<void>(gpuFreeHost(report_));
}

void GpuLane::close(std::uint64_t round) {
  round_ = round;
  wait_for_opening<<<1, 1, 0, stream_>>>(flag_.address(), round_, report_,
                                         static_cast<std::uint64_t>(timeout * vendor::ticks_per_second));
  LINKSCOPE_CHECK(gpuGetLastError());
  LINKSCOPE_CHECK(gpuEventRecord(opened_, stream_));
}

void GpuLane::arrive_late(Seconds latest) {
  check(launch_work(stream_, drawn_part(round_) * latest), "launch_work");
}

void GpuLane::stamp_start() { LINKSCOPE_CHECK(gpuEventRecord(start_, stream_)); }
void GpuLane::stamp_end() { LINKSCOPE_CHECK(gpuEventRecord(end_, stream_)); }
void GpuLane::stamp_idle() { LINKSCOPE_CHECK(gpuEventRecord(idle_, stream_)); }

Span GpuLane::span(const Timer& timer, Tail tail) const {
  if (report_->expired == round_) {
    throw Error(Fault::broken, "the gate of gpu:" + std::to_string(device_) +
                                   " was not opened in time: enqueueing took longer than the kernel waits");
  }
  Span span;
  span.start = timer.host_time(report_->ticks) + elapsed(opened_, start_);
  span.end = span.start + elapsed(start_, end_);
  span.idle = tail == Tail::none ? span.end : span.end + elapsed(end_, idle_);
  return span;
}

Timer::Timer(gpuStream_t stream)
    : stream_(stream), ticks_per_second_(vendor::ticks_per_second), rate_error_(nominal_rate_error) {
  mailbox_ = allocate_shared<Mailbox>();
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
