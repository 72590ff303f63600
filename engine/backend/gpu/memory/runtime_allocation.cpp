#include "backend/gpu/memory/runtime_allocation.hpp"

#include <utility>

#include "backend/gpu/context.hpp"
#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {
namespace {

Bytes whole_units(GpuContext& context, int device, const RuntimeCalls& calls, Bytes bytes) {
  if (calls.unit == nullptr) return bytes;
  context.use(device);
  return round_up(bytes, calls.unit(device));
}

class RuntimeAllocation final : public host::Allocation {
 public:
  RuntimeAllocation(std::shared_ptr<GpuContext> context, int device, const RuntimeCalls& calls,
                    std::string memory, Bytes bytes, PoolKeeps keeps, std::unique_ptr<const ManagedRoom> room)
      : context_(std::move(context)),
        calls_(calls),
        memory_(std::move(memory)),
        request_{device, whole_units(*context_, device, calls, bytes), context_->service_stream(device),
                 calls.host_flags},
        keeps_(keeps),
        room_(std::move(room)) {}
  ~RuntimeAllocation() override { static_cast<void>(gpuStreamSynchronize(request_.stream)); }
  RuntimeAllocation(const RuntimeAllocation&) = delete;
  RuntimeAllocation& operator=(const RuntimeAllocation&) = delete;

  [[nodiscard]] int take(std::span<host::Block> blocks) noexcept override {
    gpuError_t status = gpuSetDevice(request_.device);
    for (std::size_t i = 0; i < blocks.size() && status == gpuSuccess; ++i) {
      void* at = nullptr;
      status = calls_.take(&at, request_);
      if (status == gpuSuccess) blocks[i] = static_cast<host::Block>(at);
    }
    return static_cast<int>(status);
  }
  [[nodiscard]] int give_back(std::span<const host::Block> blocks) noexcept override {
    gpuError_t status = gpuSetDevice(request_.device);
    for (const host::Block block : blocks) {
      const gpuError_t one = calls_.give_back(block, request_);
      if (one != gpuSuccess) status = one;
    }
    return static_cast<int>(status);
  }
  void settle() override {
    if (keeps_ == PoolKeeps::nothing) LINKSCOPE_CHECK(gpuStreamSynchronize(request_.stream));
  }
  [[nodiscard]] Error failure(int code) const override {
    return runtime_failure(code, format_bytes(request_.bytes) + " of " + memory_ + " memory");
  }

 protected:
  [[nodiscard]] Bytes size() const override { return request_.bytes; }

 private:
  std::shared_ptr<GpuContext> context_;
  RuntimeCalls calls_;
  std::string memory_;
  AllocationRequest request_;
  PoolKeeps keeps_;
  std::unique_ptr<const ManagedRoom> room_;
};

}  // namespace

std::unique_ptr<host::Allocation> allocate_by_runtime(std::shared_ptr<GpuContext> context, int device,
                                                      const RuntimeCalls& calls, std::string memory,
                                                      Bytes bytes, PoolKeeps keeps,
                                                      std::unique_ptr<const ManagedRoom> room) {
  return std::make_unique<RuntimeAllocation>(std::move(context), device, calls, std::move(memory), bytes,
                                             keeps, std::move(room));
}

Error runtime_failure(int code, const std::string& what) {
  const auto status = static_cast<gpuError_t>(code);
  static_cast<void>(gpuGetLastError());
  return {status == gpuErrorMemoryAllocation ? Fault::no_memory : Fault::broken,
          what + ": " + describe(status)};
}

}  // namespace linkscope::gpu
