// The gate kernel, and the stamps behind it.
#include "backend/gpu/gate/lane.hpp"

#include <atomic>
#include <new>

#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {

struct GpuLane::Report {
  std::uint64_t ticks;    ///< device clock when the gate was seen open
  std::uint64_t expired;  ///< last round in which the kernel gave up
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

}  // namespace linkscope::gpu
