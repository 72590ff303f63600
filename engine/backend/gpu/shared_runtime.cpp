#include "backend/gpu/shared_runtime.hpp"

#include <utility>

#include "backend/gpu/call/call_transfer.hpp"
#include "backend/gpu/context.hpp"
#include "backend/gpu/gpu_method.hpp"
#include "backend/gpu/memory/gpu_memory.hpp"
#include "backend/gpu/memory/runtime_allocation.hpp"
#include "backend/gpu/vendor.hpp"

namespace linkscope::gpu {

std::shared_ptr<GpuRuntime> shared_runtime(std::shared_ptr<GpuContext> context) {
  GpuRuntime runtime;
  runtime.use = [](const DeviceId& device) { return static_cast<int>(gpuSetDevice(device.index)); };
  runtime.bounce = [context](const Endpoint& where, Bytes bytes) {
    std::byte* const address = allocate_pinned(*context, calling_node(*context, where.device.index), bytes);
    return std::make_unique<BounceBuffer>(
        std::shared_ptr<std::byte>(address, pinned_deleter(context)),
        [](void* to, const void* from, Bytes size) noexcept {
          return static_cast<int>(gpuMemcpy(to, from, size, gpuMemcpyDefault));
        });
  };
  runtime.rotation_bytes = [context](const DeviceId& device) {
    return rotation_bytes_of(*context, {device});
  };
  runtime.failure = [](int code) { return runtime_failure(code, "a copy through the host"); };
  return std::make_shared<GpuRuntime>(std::move(runtime));
}

}  // namespace linkscope::gpu
