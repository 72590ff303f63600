// Managed memory: one address, pages that a driver moves.
#include "backend/gpu/memory/memories.hpp"

#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/advice.hpp"
#include "backend/gpu/memory/device_buffer.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "backend/host/context.hpp"
#include "backend/host/host_buffer.hpp"
#include "backend/host/memory_room.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

class ManagedMemory final : public GpuMemory {
 public:
  explicit ManagedMemory(std::shared_ptr<GpuContext> context)
      : GpuMemory(std::move(context),
                  {"managed", "memory that migrates to who uses it (cudaMallocManaged, hipMallocManaged)",
                   managed_traits}) {}

  [[nodiscard]] bool takes_advice() const override { return true; }
  [[nodiscard]] Support available() const override {
    if (const Support has_gpu = GpuMemory::available(); !has_gpu) return has_gpu;
    for (int device = 0; device < context().device_count(); ++device) {
      if (context().device(device).concurrent_managed) return Support::yes();
    }
    return Support::no(
        "no GPU here shares managed memory with the CPU while it works (concurrentManagedAccess is 0)");
  }
  [[nodiscard]] std::optional<RuntimeCalls> runtime_calls(DeviceKind /*where*/) const override {
    return managed_calls;
  }
  [[nodiscard]] Support supports(const Endpoint& where) const override {
    if (const Support here = available(); !here) return here;
    if (const Support advised = can_advise(parse_advice(where.advice)); !advised) return advised;
    for (const DeviceId& device : {where.device, where.first_touch}) {
      Support known =
          device.kind == DeviceKind::gpu ? context().has(device) : context().host().can_hold(device);
      if (!known) return known;
      if (device.kind == DeviceKind::gpu && !context().device(device.index).concurrent_managed) {
        return Support::no(device.text() + " has no concurrent access to managed memory");
      }
    }
    return Support::yes();
  }
  /// Pages that nothing binds keep a history: see Memory.
  [[nodiscard]] bool reusable(const Endpoint& where) const override {
    return where.placement == Placement::bound;
  }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override {
    const bool on_gpu = where.device.kind == DeviceKind::gpu;
    const int keeper = on_gpu ? where.device.index : context().nearest_gpu(where.device.index);
    if (!on_gpu || where.first_touch.kind == DeviceKind::numa)
      host::MemoryRoom::wait_for(bytes, std::nullopt);
    auto room = std::make_shared<const ManagedRoom>(shared_context(), keeper, bytes);
    void* memory = nullptr;
    LINKSCOPE_CHECK(gpuMallocManaged(&memory, bytes, gpuMemAttachGlobal));
    auto* address = static_cast<std::byte*>(memory);
    // The room holds the context, so that the driver outlives the memory.
    const auto give_back = [room = std::move(room)](std::byte* at) { static_cast<void>(gpuFree(at)); };
    std::unique_ptr<Buffer> buffer;
    if (on_gpu) {
      buffer = std::make_unique<DeviceBuffer>(where, bytes, address, give_back, shared_context(), keeper);
    } else {
      buffer = std::make_unique<host::HostBuffer>(where, bytes, address, give_back,
                                                  context().host().workers(where.device.index));
    }
    advise(context(), address, bytes, where);
    touch_from(context(), address, bytes, where.first_touch);
    return buffer;
  }
};

}  // namespace

std::unique_ptr<GpuMemory> managed_memory(std::shared_ptr<GpuContext> context) {
  return std::make_unique<ManagedMemory>(std::move(context));
}

}  // namespace linkscope::gpu
