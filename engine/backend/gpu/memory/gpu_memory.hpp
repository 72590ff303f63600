// GpuMemory: what the memories of this backend have in common.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "backend/gpu/vendor.hpp"
#include "model/method.hpp"

namespace linkscope::gpu {

class GpuContext;

/// A call is made with these; the device is current.
struct AllocationRequest {
  int device;
  Bytes bytes;  ///< whole units
  gpuStream_t stream;
  unsigned host_flags;
};

/// The calls of the runtime that take and give back one kind of memory.
struct RuntimeCalls {
  gpuError_t (*take)(void**, const AllocationRequest&);
  gpuError_t (*give_back)(void*, const AllocationRequest&);
  Bytes (*unit)(int device) = nullptr;  ///< the calls take whole ones of these; null: any bytes
  unsigned host_flags = 0;              ///< further ones of gpuHostAlloc
};

inline gpuError_t free_plain(void* at, const AllocationRequest& /*request*/) { return gpuFree(at); }

class GpuMemory : public Memory {
 public:
  GpuMemory(std::shared_ptr<GpuContext> context, const MemorySpec& spec)
      : Memory(spec), context_(std::move(context)) {}

  /// Yes where there is a GPU.
  [[nodiscard]] Support available() const override;
  /// What methods allocate and free call for such memory on a device of that kind; none: they do not time it.
  [[nodiscard]] virtual std::optional<RuntimeCalls> runtime_calls(DeviceKind /*where*/) const {
    return std::nullopt;
  }

 protected:
  [[nodiscard]] GpuContext& context() const { return *context_; }
  [[nodiscard]] const std::shared_ptr<GpuContext>& shared_context() const { return context_; }
  /// Says whether a GPU's own memory can be placed as `where` says.
  [[nodiscard]] Support lies_on_gpu(const Endpoint& where) const;
  /// A buffer of GPU where.device.index at `address`, which `give_back` frees; touched as `where` says.
  [[nodiscard]] std::unique_ptr<Buffer> device_buffer(const Endpoint& where, Bytes bytes, std::byte* address,
                                                      std::function<void(std::byte*)> give_back) const;
  /// Says whether page-locked memory can be placed as `where` says.
  [[nodiscard]] Support can_pin(const Endpoint& where) const;

 private:
  std::shared_ptr<GpuContext> context_;
};

/// The calls of a catalog's memories, by a memory's name and the kind of device that it is on.
using RuntimeCallTable = std::map<std::pair<std::string_view, DeviceKind>, RuntimeCalls>;
[[nodiscard]] RuntimeCallTable call_table(std::span<const std::unique_ptr<GpuMemory>> memories);

/// Writes all of [address, address + bytes) from where `toucher` is.
void touch_from(GpuContext& context, std::byte* address, Bytes bytes, const DeviceId& toucher);
/// Page-locked memory from the driver, mapped into every GPU, on the pages of NUMA node `node`; `flags`: further ones
/// of gpuHostAlloc. Throws Error{no_memory} where the node or a cgroup has too little.
std::byte* allocate_pinned(GpuContext& context, int node, Bytes bytes, unsigned flags = 0);
/// Gives memory of gpuMalloc on `device` back.
std::function<void(std::byte*)> device_deleter(int device);
/// Gives page-locked memory back.
std::function<void(std::byte*)> pinned_deleter(std::shared_ptr<GpuContext> context);

}  // namespace linkscope::gpu
