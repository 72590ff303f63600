// first-touch where a GPU touches, or managed memory is touched.
#include "backend/gpu/call/call_transfer.hpp"
#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/memories.hpp"
#include "backend/gpu/memory/runtime_allocation.hpp"
#include "backend/gpu/methods.hpp"
#include "backend/gpu/migration/migrating_slots.hpp"
#include "backend/gpu/transfer.hpp"
#include "backend/host/allocation.hpp"
#include "backend/host/context.hpp"
#include "backend/host/memory_room.hpp"
#include "backend/host/slot_transfer.hpp"

namespace linkscope::gpu {
namespace {

constexpr std::uint64_t most_fresh = 64;

class GpuTouchTransfer final : public GpuTransfer {
 public:
  GpuTouchTransfer(std::shared_ptr<GpuContext> context, int device, std::unique_ptr<host::FreshBlocks> blocks)
      : context_(std::move(context)), device_(device), blocks_(std::move(blocks)) {
    own_facts().max_repeats = blocks_->many().count;
    context_->load(device_, call_kernels());
  }

  [[nodiscard]] int device() const override { return device_; }
  void enqueue(gpuStream_t stream, std::uint64_t repeats) override {
    const int multiprocessors = context_->device(device_).multiprocessors;
    for (std::uint64_t i = 0; i < repeats; ++i, ++touched_) {
      const host::Block block = blocks_->at(touched_);
      if (block != nullptr)
        touch_block(stream, multiprocessors, block, blocks_->many().bytes, blocks_->value());
    }
  }
  void arm(std::uint64_t seed) override {
    restore();
    blocks_->arm(seed);
  }
  void restore() override {
    blocks_->renew(touched_);
    touched_ = 0;
  }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t /*seed*/) const override {
    return blocks_->find_wrong(touched_);
  }
  [[nodiscard]] Bytes verified_bytes() const override { return blocks_->verified_bytes(touched_); }

 private:
  std::shared_ptr<GpuContext> context_;
  int device_;
  std::unique_ptr<host::FreshBlocks> blocks_;
  std::uint64_t touched_ = 0;  ///< since restore()
};

/// The GPU whose managed memory the flow touches.
int owner_of(const GpuContext& context, const Flow& flow) {
  if (flow.executor.kind == DeviceKind::gpu) return flow.executor.index;
  const DeviceId& where = flow.destination->device;
  return where.kind == DeviceKind::gpu ? where.index : context.nearest_gpu(where.index);
}

Support can_touch_first(const GpuContext& context, const Flow& flow) {
  if (const Support named = names_memory(flow); !named) return named;
  const Endpoint& where = *flow.destination;
  if (!where.advice.empty()) return Support::no("first-touch makes blocks of its own: no advice applies");
  const bool by_cpu = flow.executor.kind == DeviceKind::numa;
  if (by_cpu && !where.traits.migrates)
    return Support::no("CPUs touch managed memory here, not " + where.memory);
  if (!where.traits.migrates && !where.traits.is_private())
    return Support::no("first-touch is for pageable, huge and managed memory, not " + where.memory);
  if (by_cpu) {
    Endpoint loose = where;  // the touch decides where the pages go
    loose.placement = Placement::first_touch;
    if (const Support reached = context.host().reachable(loose); !reached) return reached;
    return host::threads_available(context.host(), flow);
  }
  if (const Support here = context.has(flow.executor); !here) return here;
  return context.reachable(flow.executor.index, where);
}

std::unique_ptr<Transfer> make_touch(const std::shared_ptr<GpuContext>& context, const Flow& flow,
                                     const Arenas& /*arenas*/) {
  const bool by_cpu = flow.executor.kind == DeviceKind::numa;
  const int owner = owner_of(*context, flow);
  const int node = by_cpu ? flow.executor.index : calling_node(*context, owner);
  const Endpoint& where = *flow.destination;
  std::unique_ptr<host::FreshBlocks> blocks;
  if (where.traits.migrates) {
    // No page may have been touched before: a smaller allocation shares a block of the driver with others, whose pages
    // are there already.
    const host::BlockCount many = host::blocks_to_hold(in_blocks(flow.bytes), context->free_memory(owner),
                                                       most_fresh, DeviceId{DeviceKind::gpu, owner}.text());
    if (by_cpu) host::MemoryRoom::wait_for(many.bytes * many.count, std::nullopt);
    auto managed =
        allocate_by_runtime(context, owner, managed_calls, where.memory, many.bytes, PoolKeeps::blocks,
                            std::make_unique<const ManagedRoom>(context, owner, many.bytes * many.count));
    blocks = std::make_unique<host::FreshBlocks>(context->host(), node, std::move(managed),
                                                 host::BlockCount{flow.bytes, many.count});
  } else {
    blocks = host::fresh_host_blocks(context->host(), node, flow);
  }
  if (!by_cpu) return std::make_unique<GpuTouchTransfer>(context, owner, std::move(blocks));
  const auto threads = static_cast<unsigned>(flow.parameters.number(host::thread_count));
  return host::first_touches(node, threads, std::move(blocks));
}

}  // namespace

Method gpu_first_touch(const std::shared_ptr<GpuContext>& context) {
  return call_row(context,
                  {"first-touch", "time to write a fresh allocation for the first time", Quantity::latency,
                   first_touch_traits},
                  {host::thread_count}, &can_touch_first, &make_touch);
}

}  // namespace linkscope::gpu
