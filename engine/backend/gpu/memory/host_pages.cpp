// Memory on the host's own pages: page-locked after they were allocated, or brought into being by a GPU.
#include "backend/gpu/memory/memories.hpp"

#include <cstdlib>
#include <string>

#include "backend/gpu/context.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "backend/host/context.hpp"
#include "backend/host/host_buffer.hpp"
#include "backend/host/memory_room.hpp"
#include "backend/host/page_mapping.hpp"

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

bool touched_by_gpu(const Endpoint& where) {
  return where.placement == Placement::first_touch && where.first_touch.kind == DeviceKind::gpu;
}

/// A mapping of the host's that a GPU touched first.
class SystemBuffer final : public host::HostBuffer {
 public:
  SystemBuffer(const Endpoint& where, Bytes bytes, host::PageMapping mapping,
               std::shared_ptr<GpuContext> context)
      : HostBuffer(where, bytes, mapping.data(), {}, context->host().workers(where.device.index)),
        context_(std::move(context)),
        mapping_(std::move(mapping)) {
    touch_from(*context_, data(), bytes, where.first_touch);
  }

  [[nodiscard]] std::string residence() const override {
    return "touched first by " + where().first_touch.text();
  }

 private:
  std::shared_ptr<GpuContext> context_;
  host::PageMapping mapping_;
};

class SystemMemory final : public GpuMemory {
 public:
  /// `pages` for what a GPU touches first: `on_host`'s own, from no pool of huge pages, which GPUs may not fault on.
  SystemMemory(std::shared_ptr<GpuContext> context, std::unique_ptr<Memory> on_host, host::Pages pages)
      : GpuMemory(std::move(context), on_host->spec()), on_host_(std::move(on_host)), pages_(pages) {}

  [[nodiscard]] Support available() const override { return on_host_->available(); }
  [[nodiscard]] Support supports(const Endpoint& where) const override {
    if (!touched_by_gpu(where)) return on_host_->supports(where);
    if (const Support held = context().host().can_hold(where.device); !held) return held;
    if (const Support here = context().has(where.first_touch); !here) return here;
    if (context().device(where.first_touch.index).pageable) return Support::yes();
    return Support::no(where.first_touch.text() + " cannot touch " + std::string(name()) +
                       " memory first (no pageable memory access)");
  }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override {
    if (!touched_by_gpu(where)) return on_host_->allocate(where, bytes);
    host::MemoryRoom::wait_for(bytes, std::nullopt);
    return std::make_unique<SystemBuffer>(where, bytes, host::PageMapping(bytes, pages_), shared_context());
  }

 private:
  std::unique_ptr<Memory> on_host_;
  host::Pages pages_;
};

}  // namespace

std::unique_ptr<GpuMemory> registered_memory(std::shared_ptr<GpuContext> context) {
  return std::make_unique<RegisteredMemory>(std::move(context));
}

std::unique_ptr<GpuMemory> system_memory(std::shared_ptr<GpuContext> context, std::unique_ptr<Memory> on_host,
                                         host::Pages pages) {
  return std::make_unique<SystemMemory>(std::move(context), std::move(on_host), pages);
}

}  // namespace linkscope::gpu
