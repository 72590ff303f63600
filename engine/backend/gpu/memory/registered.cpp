// Host memory that a driver page-locks after it was allocated.
#include "backend/gpu/memory/memories.hpp"

#include <cstdlib>

#include "backend/gpu/context.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "backend/host/context.hpp"
#include "backend/host/host_buffer.hpp"

namespace linkscope::gpu {
namespace {

/// A host mapping for as long as it is page-locked.
class RegisteredBuffer final : public host::HostBuffer {
 public:
  RegisteredBuffer(const Endpoint& where, std::unique_ptr<host::MappedBuffer> mapping,
                   std::shared_ptr<GpuContext> context)
      : HostBuffer(where, mapping->bytes(), mapping->data(), {}, context->host().workers(where.device.index)),
        context_(std::move(context)),
        mapping_(std::move(mapping)) {
    context_->use(context_->nearest_gpu(where.device.index));
    LINKSCOPE_CHECK(gpuHostRegister(data(), bytes(), gpuHostRegisterPortable | gpuHostRegisterMapped));
  }
  ~RegisteredBuffer() override { static_cast<void>(gpuHostUnregister(data())); }

  [[nodiscard]] std::string residence() const override { return mapping_->residence(); }

 private:
  std::shared_ptr<GpuContext> context_;
  std::unique_ptr<host::MappedBuffer> mapping_;
};

constexpr Bytes host_page = 4096;

gpuError_t take_registered(void** at, const AllocationRequest& request) {
  *at = std::aligned_alloc(host_page, request.bytes);
  if (*at == nullptr) return gpuErrorMemoryAllocation;
  const gpuError_t status =
      gpuHostRegister(*at, request.bytes, gpuHostRegisterPortable | gpuHostRegisterMapped);
  if (status != gpuSuccess) std::free(*at);
  return status;
}
gpuError_t free_registered(void* at, const AllocationRequest&) {
  const gpuError_t status = gpuHostUnregister(at);
  std::free(at);
  return status;
}

class RegisteredMemory final : public GpuMemory {
 public:
  explicit RegisteredMemory(std::shared_ptr<GpuContext> context)
      : GpuMemory(std::move(context),
                  {"registered", "ordinary pages, page-locked afterwards (cudaHostRegister, hipHostRegister)",
                   registered_traits}) {}

  [[nodiscard]] Support supports(const Endpoint& where) const override {
    if (const Support has_gpu = available(); !has_gpu) return has_gpu;
    return host::can_place(context().host(), where);
  }
  [[nodiscard]] std::optional<RuntimeCalls> runtime_calls(DeviceKind where) const override {
    if (where != DeviceKind::numa) return std::nullopt;
    return RuntimeCalls{take_registered, free_registered, [](int /*device*/) { return host_page; }};
  }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override {
    auto mapping = std::make_unique<host::MappedBuffer>(context().shared_host(), where, bytes,
                                                        host::Pages::system_policy);
    return std::make_unique<RegisteredBuffer>(where, std::move(mapping), shared_context());
  }
};

}  // namespace

std::unique_ptr<GpuMemory> registered_memory(std::shared_ptr<GpuContext> context) {
  return std::make_unique<RegisteredMemory>(std::move(context));
}

}  // namespace linkscope::gpu
