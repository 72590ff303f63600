// Page-locked memory on a chosen node.
#include "backend/gpu/memory/gpu_memory.hpp"

#include <numaif.h>

#include <array>
#include <cstring>
#include <utility>

#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/device_buffer.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "backend/host/context.hpp"
#include "backend/host/memory_room.hpp"
#include "base/error.hpp"
#include "model/pattern.hpp"

namespace linkscope::gpu {
namespace {

/// Makes `node` the only one that serves the calling thread's new pages, while it lives; after that the policy is what
/// it was (numactl may have set it). Where the system forbids that (containers do), the thread's own node serves them,
/// which is the same one.
class MemoryPolicy {
 public:
  explicit MemoryPolicy(int node) {
    known_ = get_mempolicy(&mode_, nodes_.data(), most_nodes, nullptr, 0) == 0;
    if (!known_) return;
    std::array<unsigned long, words> mask{};
    const auto index = static_cast<std::size_t>(node);
    mask.at(index / bits) |= 1UL << (index % bits);
    static_cast<void>(set_mempolicy(MPOL_BIND, mask.data(), most_nodes));
  }
  ~MemoryPolicy() {
    if (known_) static_cast<void>(set_mempolicy(mode_, nodes_.data(), most_nodes));
  }
  MemoryPolicy(const MemoryPolicy&) = delete;
  MemoryPolicy& operator=(const MemoryPolicy&) = delete;

 private:
  static constexpr std::size_t bits = 8 * sizeof(unsigned long);
  static constexpr std::size_t words = 64;
  static constexpr std::size_t most_nodes = words * bits;  // more than any kernel is built for

  bool known_ = false;
  int mode_ = MPOL_DEFAULT;
  std::array<unsigned long, words> nodes_{};
};

}  // namespace

Support GpuMemory::available() const { return context_->available(); }

Support GpuMemory::lies_on_gpu(const Endpoint& where) const {
  if (const Support held = context_->has(where.device); !held) return held;
  if (where.placement != Placement::bound) {
    return Support::no(std::string(name()) +
                       " memory does not follow who touches it: its placement is always bound");
  }
  if (where.first_touch == where.device) return Support::yes();
  if (where.first_touch.kind == DeviceKind::gpu)
    return Support::no(std::string(name()) + " memory is touched first by its own GPU or by CPUs");
  const Support reached = context_->host().reachable(where);
  return reached ? reached
                 : Support::no("not touched first by " + where.first_touch.text() + ": " + reached.reason());
}

RuntimeCallTable call_table(std::span<const std::unique_ptr<GpuMemory>> memories) {
  RuntimeCallTable table;
  for (const auto& memory : memories) {
    for (const DeviceKind kind : {DeviceKind::gpu, DeviceKind::numa}) {
      if (const auto calls = memory->runtime_calls(kind))
        table.emplace(std::pair(memory->name(), kind), *calls);
    }
  }
  return table;
}

std::unique_ptr<Buffer> GpuMemory::device_buffer(const Endpoint& where, Bytes bytes, std::byte* address,
                                                 std::function<void(std::byte*)> give_back) const {
  auto buffer = std::make_unique<DeviceBuffer>(where, bytes, address, std::move(give_back), context_,
                                               where.device.index);
  if (where.first_touch != where.device) touch_from(*context_, address, bytes, where.first_touch);
  return buffer;
}

void touch_from(GpuContext& context, std::byte* address, Bytes bytes, const DeviceId& toucher) {
  if (toucher.kind == DeviceKind::numa) {
    context.share_on_node(toucher.index, bytes, [address](Bytes offset, Bytes length) {
      std::memset(address + offset, poison_byte, length);
    });
    return;
  }
  const gpuStream_t stream = context.service_stream(toucher.index);
  LINKSCOPE_CHECK(gpuMemsetAsync(address, poison_byte, bytes, stream));
  LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
}

Support GpuMemory::can_pin(const Endpoint& where) const {
  if (const Support has_gpu = GpuMemory::available(); !has_gpu) return has_gpu;
  if (const Support held = context_->host().can_hold(where.device); !held) return held;
  if (where.placement == Placement::bound) return Support::yes();
  return Support::no("the driver touches page-locked memory first: its placement is always bound");
}

std::byte* allocate_pinned(GpuContext& context, int node, Bytes bytes, unsigned flags) {
  const auto room = host::MemoryRoom::cgroup_room();
  if (room && bytes > *room) {
    throw Error(Fault::no_memory, format_bytes(bytes) +
                                      " of page-locked memory do not fit: the memory cgroup has " +
                                      format_bytes(*room) + " left");
  }
  const bool several = context.host().topology().nodes().size() > 1;
  host::MemoryRoom::wait_for(bytes, several ? std::optional<int>(node) : std::nullopt);
  const int device = context.nearest_gpu(node);
  context.use(device);
  void* memory = nullptr;
  gpuError_t status = gpuSuccess;
  context.run_on_node(node, [&] {
    const MemoryPolicy policy(node);
    status = gpuSetDevice(device);
    if (status == gpuSuccess)
      status = gpuHostAlloc(&memory, bytes, gpuHostAllocPortable | gpuHostAllocMapped | flags);
    if (status != gpuSuccess) static_cast<void>(gpuGetLastError());
  });
  check(status, "gpuHostAlloc");
  return static_cast<std::byte*>(memory);
}

std::function<void(std::byte*)> device_deleter(int device) {
  return [device](std::byte* address) {
    static_cast<void>(gpuSetDevice(device));
    static_cast<void>(gpuFree(address));
  };
}

std::function<void(std::byte*)> pinned_deleter(std::shared_ptr<GpuContext> context) {
  return [context = std::move(context)](std::byte* address) { static_cast<void>(gpuFreeHost(address)); };
}

}  // namespace linkscope::gpu
