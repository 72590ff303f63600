// Waiting for joint work.
#include "backend/gpu/joint.hpp"

#include <thread>

#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {

void wait_for(const Joint& joint, const std::vector<JointStream>& streams) {
  for (const JointStream& share : streams) {
    for (gpuError_t state = gpuStreamQuery(share.stream); state != gpuSuccess;
         state = gpuStreamQuery(share.stream)) {
      if (state != gpuErrorNotReady) LINKSCOPE_CHECK(state);
      static_cast<void>(gpuGetLastError());  // "not ready" is kept as if it were an error
      joint.watch();
      std::this_thread::yield();
    }
  }
}

void drain(const std::vector<JointStream>& streams) noexcept {
  for (const JointStream& share : streams) {
    static_cast<void>(gpuSetDevice(share.device));
    static_cast<void>(gpuStreamSynchronize(share.stream));
    static_cast<void>(gpuGetLastError());
  }
}

}  // namespace linkscope::gpu
