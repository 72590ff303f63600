// The system's memory, its pages brought into being by a GPU.
#include "backend/gpu/memory/memories.hpp"

#include <string>

#include "backend/gpu/context.hpp"
#include "backend/host/context.hpp"
#include "backend/host/host_buffer.hpp"
#include "backend/host/memory_room.hpp"
#include "backend/host/page_mapping.hpp"

namespace linkscope::gpu {
namespace {

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

std::unique_ptr<GpuMemory> system_memory(std::shared_ptr<GpuContext> context, std::unique_ptr<Memory> on_host,
                                         host::Pages pages) {
  return std::make_unique<SystemMemory>(std::move(context), std::move(on_host), pages);
}

}  // namespace linkscope::gpu
