#include "backend/gpu/streams.hpp"

#include <cstring>
#include <thread>

#include "backend/gpu/context.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"
#include "base/steady_clock.hpp"

namespace linkscope::gpu {

OwnStream::OwnStream(GpuContext& context, int device) : device_(device) {
  context.use(device);
  LINKSCOPE_CHECK(gpuStreamCreateWithFlags(&stream_, gpuStreamNonBlocking));
}

OwnStream::~OwnStream() {
  static_cast<void>(gpuSetDevice(device_));
  static_cast<void>(gpuStreamSynchronize(stream_));
  static_cast<void>(gpuStreamDestroy(stream_));
  static_cast<void>(gpuGetLastError());
}

StreamEvent::StreamEvent(GpuContext& context, int device, EventReach reach) : device_(device) {
  context.use(device);
  const unsigned further = reach == EventReach::node ? gpuEventInterprocess : 0U;
  LINKSCOPE_CHECK(gpuEventCreateWithFlags(&event_, gpuEventDisableTiming | further));
}

StreamEvent::StreamEvent(GpuContext& context, int device, const std::string& handle) : device_(device) {
  context.use(device);
  gpuIpcEventHandle_t bytes{};
  if (handle.size() != sizeof bytes)
    throw Error(Fault::broken, "a process offered no event: do all run the same engine?");
  std::memcpy(&bytes, handle.data(), sizeof bytes);
  const gpuError_t status = gpuIpcOpenEventHandle(&event_, bytes);
  if (status == gpuSuccess) return;
  static_cast<void>(gpuGetLastError());
  throw Error(Fault::unsupported, "the driver does not open another process's event: " + describe(status));
}

StreamEvent::~StreamEvent() {
  static_cast<void>(gpuSetDevice(device_));
  static_cast<void>(gpuEventDestroy(event_));
  static_cast<void>(gpuGetLastError());
}

std::string StreamEvent::handle() const {
  gpuIpcEventHandle_t bytes{};
  if (gpuIpcGetEventHandle(&bytes, event_) == gpuSuccess)
    return {reinterpret_cast<const char*>(&bytes), sizeof bytes};
  static_cast<void>(gpuGetLastError());
  return {};
}

void StreamEvent::record(gpuStream_t stream) const { LINKSCOPE_CHECK(gpuEventRecord(event_, stream)); }

void StreamEvent::hold_back(gpuStream_t stream) const {
  LINKSCOPE_CHECK(gpuStreamWaitEvent(stream, event_, 0));
}

bool is_idle(gpuStream_t stream) {
  const gpuError_t state = gpuStreamQuery(stream);
  if (state == gpuErrorNotReady) {
    static_cast<void>(gpuGetLastError());  // "not ready" is kept as if it were an error
    return false;
  }
  check(state, "gpuStreamQuery");
  return true;
}

std::vector<Seconds> wait_for(const MultiGpuWork& shared_work, const std::vector<DeviceStream>& streams) {
  std::vector<Seconds> idle_since(streams.size(), 0);
  std::size_t busy = streams.size();
  while (busy > 0) {
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (idle_since[i] != 0 || !is_idle(streams[i].stream)) continue;
      idle_since[i] = steady_seconds();
      --busy;
    }
    if (busy == 0) break;
    shared_work.watch();
    std::this_thread::yield();
  }
  return idle_since;
}

void drain(const std::vector<DeviceStream>& streams) noexcept {
  for (const DeviceStream& share : streams) {
    static_cast<void>(gpuSetDevice(share.device));
    static_cast<void>(gpuStreamSynchronize(share.stream));
    static_cast<void>(gpuGetLastError());
  }
}

}  // namespace linkscope::gpu
