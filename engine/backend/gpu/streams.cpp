#include "backend/gpu/streams.hpp"

#include <cstring>

#include "backend/gpu/context.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"

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

}  // namespace linkscope::gpu
