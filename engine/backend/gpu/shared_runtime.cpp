#include "backend/gpu/shared_runtime.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "backend/gpu/call/call_transfer.hpp"
#include "backend/gpu/context.hpp"
#include "backend/gpu/gpu_method.hpp"
#include "backend/gpu/memory/gpu_memory.hpp"
#include "backend/gpu/memory/runtime_allocation.hpp"
#include "backend/gpu/vendor.hpp"

namespace linkscope::gpu {

namespace {

class PinnedBounceBuffer final : public BounceBuffer {
 public:
  PinnedBounceBuffer(std::byte* address, std::function<void(std::byte*)> give_back)
      : address_(address), give_back_(std::move(give_back)) {}
  ~PinnedBounceBuffer() override { give_back_(address_); }
  PinnedBounceBuffer(const PinnedBounceBuffer&) = delete;
  PinnedBounceBuffer& operator=(const PinnedBounceBuffer&) = delete;

  [[nodiscard]] std::byte* data() const override { return address_; }
  [[nodiscard]] int load(const std::byte* from, Bytes bytes) noexcept override {
    return static_cast<int>(gpuMemcpy(address_, from, bytes, gpuMemcpyDefault));
  }
  [[nodiscard]] int store(std::byte* to, Bytes bytes) noexcept override {
    return static_cast<int>(gpuMemcpy(to, address_, bytes, gpuMemcpyDefault));
  }

 private:
  std::byte* address_;
  std::function<void(std::byte*)> give_back_;
};

}  // namespace

int SharedRuntime::use(const DeviceId& device) noexcept {
  return static_cast<int>(gpuSetDevice(device.index));
}

std::unique_ptr<BounceBuffer> SharedRuntime::bounce(const Endpoint& where, Bytes bytes) {
  const int node = calling_node(*context_, where.device.index);
  std::byte* const address = allocate_pinned(*context_, node, bytes);
  return std::make_unique<PinnedBounceBuffer>(address, pinned_deleter(context_));
}

Bytes SharedRuntime::rotation_bytes(const DeviceId& device) const {
  return rotation_bytes_of(*context_, {device});
}

Error SharedRuntime::failure(int code) const { return runtime_failure(code, "a copy through the host"); }

}  // namespace linkscope::gpu
