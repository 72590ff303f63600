#include "backend/gpu/memory/runtime_allocation.hpp"

#include <cstdlib>
#include <utility>

#include "backend/gpu/context.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "backend/host/allocation.hpp"

namespace linkscope::gpu {
namespace {

class RuntimeAllocation final : public host::Allocation {
 public:
  RuntimeAllocation(std::shared_ptr<GpuContext> context, int device, const RuntimeCalls& calls,
                    std::string memory, Bytes bytes, PoolKeeps keeps, std::unique_ptr<const ManagedRoom> room)
      : context_(std::move(context)),
        calls_(calls),
        memory_(std::move(memory)),
        request_(request_for(calls, device, bytes, context_->service_stream(device))),
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

AllocationRequest request_for(const RuntimeCalls& calls, int device, Bytes bytes, gpuStream_t stream) {
  const Bytes whole = calls.unit == nullptr ? bytes : round_up(bytes, calls.unit(device));
  return {device, whole, stream, calls.host_flags};
}

std::unique_ptr<host::Allocation> allocate_by_runtime(std::shared_ptr<GpuContext> context, int device,
                                                      const RuntimeCalls& calls, std::string memory,
                                                      Bytes bytes, PoolKeeps keeps,
                                                      std::unique_ptr<const ManagedRoom> room) {
  return std::make_unique<RuntimeAllocation>(std::move(context), device, calls, std::move(memory), bytes,
                                             keeps, std::move(room));
}

MessageMemory::~MessageMemory() {
  for (const auto& [at, request] : taken_) {
    if (calls_) {
      static_cast<void>(calls_->give_back(at, request));
    } else {
      std::free(at);
    }
  }
  static_cast<void>(gpuGetLastError());
}

std::byte* MessageMemory::take(Bytes bytes) {
  void* at = nullptr;
  AllocationRequest request{device_, bytes, stream_, 0};
  if (calls_) {
    request = request_for(*calls_, device_, bytes, stream_);
    const gpuError_t status = calls_->take(&at, request);
    if (status != gpuSuccess)
      throw runtime_failure(static_cast<int>(status),
                            format_bytes(request.bytes) + " of " + where_.memory + " memory");
  } else if (where_.traits.is_private() && !where_.traits.huge_pages) {
    at = std::malloc(bytes);
    if (at == nullptr)
      throw Error(Fault::no_memory, format_bytes(bytes) + " of " + where_.memory + " memory");
  } else {
    throw Error(Fault::unsupported, where_.memory + " memory is not allocated message by message");
  }
  auto* const address = static_cast<std::byte*>(at);
  taken_.insert_or_assign(address, request);
  return address;
}

void MessageMemory::give_back(std::byte* at) {
  const auto found = taken_.find(at);
  if (found == taken_.end()) throw Error(Fault::broken, "room for a message is given back that nobody took");
  const AllocationRequest request = found->second;
  taken_.erase(found);
  if (!calls_) {
    std::free(at);
    return;
  }
  const gpuError_t status = calls_->give_back(at, request);
  if (status != gpuSuccess)
    throw runtime_failure(static_cast<int>(status), where_.memory + " memory given back");
}

Error runtime_failure(int code, const std::string& what) {
  const auto status = static_cast<gpuError_t>(code);
  static_cast<void>(gpuGetLastError());
  return {status == gpuErrorMemoryAllocation ? Fault::no_memory : Fault::broken,
          what + ": " + describe(status)};
}

}  // namespace linkscope::gpu
