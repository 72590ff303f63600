// Waiting for work of several GPUs.
#include "backend/gpu/multi_gpu_work.hpp"

#include <thread>

#include "backend/gpu/vendor/check.hpp"
#include "base/steady_clock.hpp"

namespace linkscope::gpu {

std::vector<Seconds> wait_for(const MultiGpuWork& shared_work, const std::vector<DeviceStream>& streams) {
  std::vector<Seconds> idle_since(streams.size(), 0);
  std::size_t busy = streams.size();
  while (busy > 0) {
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (idle_since[i] != 0) continue;
      const gpuError_t state = gpuStreamQuery(streams[i].stream);
      if (state == gpuSuccess) {
        idle_since[i] = steady_seconds();
        --busy;
        continue;
      }
      if (state != gpuErrorNotReady) LINKSCOPE_CHECK(state);
      static_cast<void>(gpuGetLastError());  // "not ready" is kept as if it were an error
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
