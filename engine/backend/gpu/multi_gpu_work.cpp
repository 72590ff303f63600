// Waiting for joint work.
#include "backend/gpu/multi_gpu_work.hpp"

#include <thread>

#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {

void wait_for(const MultiGpuWork& shared_work, const std::vector<DeviceStream>& streams) {
  for (const DeviceStream& share : streams) {
    for (gpuError_t state = gpuStreamQuery(share.stream); state != gpuSuccess;
         state = gpuStreamQuery(share.stream)) {
      if (state != gpuErrorNotReady) LINKSCOPE_CHECK(state);
      static_cast<void>(gpuGetLastError());  // "not ready" is kept as if it were an error
      shared_work.watch();
      std::this_thread::yield();
    }
  }
}

void drain(const std::vector<DeviceStream>& streams) noexcept {
  for (const DeviceStream& share : streams) {
    static_cast<void>(gpuSetDevice(share.device));
    static_cast<void>(gpuStreamSynchronize(share.stream));
    static_cast<void>(gpuGetLastError());
  }
}

}  // namespace linkscope::gpu
