// allocate, free, register and unregister: what memory costs before it is used.
#include <vector>

#include "backend/gpu/call/call_transfer.hpp"
#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/runtime_allocation.hpp"
#include "backend/gpu/methods.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "backend/host/allocation.hpp"
#include "backend/host/context.hpp"
#include "backend/host/host_buffer.hpp"

namespace linkscope::gpu {
namespace {

constexpr std::uint64_t most_held = 64;  // the vendors' allocations take from microseconds to milliseconds

/// Page-aligned pieces of one touched mapping, each registered and released by itself.
class Registrations final : public host::Allocation {
 public:
  Registrations(std::shared_ptr<GpuContext> context, int device, const Endpoint& where,
                const host::BlockCount& many)
      : context_(std::move(context)), device_(device), bytes_(many.bytes) {
    const host::Pages pages =
        where.traits.huge_pages ? host::Pages::transparent_huge : host::Pages::system_policy;
    const Bytes step = host::whole_pages(bytes_, pages);
    const Endpoint placed{where.device, "pageable", Placement::bound, where.device, {}, 0, pageable_traits};
    mapping_ =
        std::make_unique<host::MappedBuffer>(context_->shared_host(), placed, many.count * step, pages);
    for (std::uint64_t i = many.count; i > 0; --i) idle_.push_back(mapping_->data() + (i - 1) * step);
  }

  [[nodiscard]] int take(std::span<host::Block> blocks) noexcept override {
    gpuError_t status = gpuSetDevice(device_);
    for (std::size_t i = 0; i < blocks.size() && status == gpuSuccess; ++i) {
      const host::Block block = idle_.back();
      status = gpuHostRegister(block, bytes_, gpuHostRegisterPortable | gpuHostRegisterMapped);
      if (status != gpuSuccess) break;
      idle_.pop_back();
      blocks[i] = block;
    }
    return static_cast<int>(status);
  }
  [[nodiscard]] int give_back(std::span<const host::Block> blocks) noexcept override {
    gpuError_t status = gpuSetDevice(device_);
    for (const host::Block block : blocks) {
      const gpuError_t one = gpuHostUnregister(block);
      if (one != gpuSuccess) status = one;
      idle_.push_back(block);  // never beyond what the constructor made room for
    }
    return static_cast<int>(status);
  }
  [[nodiscard]] Error failure(int code) const override {
    return runtime_failure(code, "registration of " + format_bytes(bytes_));
  }
  [[nodiscard]] std::optional<std::string> inspect(std::span<const host::Block> blocks) const override {
    for (const host::Block block : blocks) {
      void* address = nullptr;
      if (gpuHostGetDevicePointer(&address, block, 0) == gpuSuccess && address != nullptr) continue;
      static_cast<void>(gpuGetLastError());
      return "a registered block has no address on the device";
    }
    return Allocation::inspect(blocks);
  }

 protected:
  [[nodiscard]] Bytes size() const override { return bytes_; }

 private:
  std::shared_ptr<GpuContext> context_;
  int device_;
  Bytes bytes_;
  std::unique_ptr<host::MappedBuffer> mapping_;
  std::vector<host::Block> idle_;
};

/// Drivers allocate 2 MiB at once, and hand out smaller blocks from that.
host::Keeper keeper_for(Bytes bytes, PoolKeeps keeps) {
  return bytes < 2 * MiB && keeps == PoolKeeps::blocks ? host::Keeper::one : host::Keeper::none;
}

/// The node whose CPU makes the calls.
int node_of(const GpuContext& context, const Flow& flow) {
  const DeviceId& where = flow.destination->device;
  return where.kind == DeviceKind::numa ? where.index : calling_node(context, flow.executor.index);
}

std::optional<int> only_node(const GpuContext& context, const Flow& flow) {
  const bool several = context.host().topology().nodes().size() > 1;
  return several ? std::optional<int>(node_of(context, flow)) : std::nullopt;
}

constexpr Parameter reuse = integer(
    "reuse", "pool memory: 1: blocks given back before are taken again; 0: they went back to the device", 0,
    1, 1);

Support can_allocate(const GpuContext& context, const RuntimeCallTable& calls, const Flow& flow) {
  if (const Support named = names_memory(flow); !named) return named;
  if (const Support here = context.has(flow.executor); !here) return here;
  const Endpoint& where = *flow.destination;
  if (where.traits.system_pages) return host::names_host_memory(flow);
  if (!calls.contains({where.memory, where.device.kind}))
    return Support::no(flow.method + " does not know " + where.memory + " memory of " + where.device.text());
  if (where.device.kind == DeviceKind::gpu && where.device != flow.executor)
    return Support::no("memory of " + where.device.text() + " is allocated by " + where.device.text() +
                       ", not " + flow.executor.text());
  return Support::yes();
}

std::unique_ptr<Transfer> make_calls(const std::shared_ptr<GpuContext>& context,
                                     const RuntimeCallTable& calls, const Flow& flow,
                                     host::Measured measured) {
  const Endpoint& where = *flow.destination;
  const int node = node_of(*context, flow);
  if (where.traits.system_pages) return host::make_host_calls(context->host(), node, flow, measured);
  const int device = flow.executor.index;
  // Managed memory counts against the GPU wherever it is: it may migrate there.
  const bool of_device = where.device.kind == DeviceKind::gpu || where.traits.migrates;
  const host::BlockCount many =
      of_device ? host::blocks_to_hold(flow.bytes, context->free_memory(device), most_held,
                                       "free memory of " + flow.executor.text())
                : host::host_blocks_to_hold(where.traits, flow.bytes, only_node(*context, flow), most_held);
  const PoolKeeps keeps = flow.parameters.number(reuse) == 1 ? PoolKeeps::blocks : PoolKeeps::nothing;
  return host::allocation_calls(
      context->host(), node,
      allocate_by_runtime(context, device, calls.at({where.memory, where.device.kind}), where.memory,
                          flow.bytes, keeps),
      many.count, measured, keeper_for(flow.bytes, keeps));
}

Method allocation_row(const std::shared_ptr<GpuContext>& context, const RuntimeCallTable& calls,
                      const MethodSpec& spec, host::Measured measured) {
  return call_row(
      context, spec, {reuse},
      [calls](GpuContext& gpus, const Flow& flow) { return can_allocate(gpus, calls, flow); },
      [calls, measured](const std::shared_ptr<GpuContext>& gpus, const Flow& flow, const Arenas& /*arenas*/) {
        return make_calls(gpus, calls, flow, measured);
      });
}

Support can_register(const GpuContext& context, const Flow& flow) {
  if (const Support named = names_memory(flow); !named) return named;
  if (const Support here = context.has(flow.executor); !here) return here;
  const Endpoint& where = *flow.destination;
  if (!where.traits.is_private() && !where.traits.registered)
    return Support::no(flow.method + " takes pageable, huge or registered memory, not " + where.memory);
  return context.host().can_hold(where.device);
}

template <host::Measured measured>
std::unique_ptr<Transfer> make_registrations(const std::shared_ptr<GpuContext>& context, const Flow& flow,
                                             const Arenas& /*arenas*/) {
  const int device = flow.executor.index;
  context->use(device);
  const host::BlockCount many =
      host::host_blocks_to_hold(flow.destination->traits, flow.bytes, only_node(*context, flow), most_held);
  return host::allocation_calls(context->host(), node_of(*context, flow),
                                std::make_unique<Registrations>(context, device, *flow.destination, many),
                                many.count, measured);
}

}  // namespace

Method gpu_allocate(const std::shared_ptr<GpuContext>& context, const RuntimeCallTable& calls) {
  return allocation_row(
      context, calls, {"allocate", "time of one allocation, untouched", Quantity::latency, allocation_traits},
      host::Measured::take);
}

Method gpu_free(const std::shared_ptr<GpuContext>& context, const RuntimeCallTable& calls) {
  return allocation_row(
      context, calls, {"free", "time to give one untouched block back", Quantity::latency, allocation_traits},
      host::Measured::give_back);
}

Method register_memory(const std::shared_ptr<GpuContext>& context) {
  return call_row(context,
                  {"register", "time to page-lock touched host memory", Quantity::latency, allocation_traits},
                  {}, &can_register, &make_registrations<host::Measured::take>);
}

Method unregister_memory(const std::shared_ptr<GpuContext>& context) {
  return call_row(context, {"unregister", "time to undo a registration", Quantity::latency}, {},
                  &can_register, &make_registrations<host::Measured::give_back>);
}

}  // namespace linkscope::gpu
