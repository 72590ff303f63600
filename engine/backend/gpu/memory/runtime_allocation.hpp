// What a memory's calls of the runtime take and give back: blocks whose calls are timed, and messages.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/gpu_memory.hpp"
#include "base/units.hpp"

namespace linkscope::host {
class Allocation;
}

namespace linkscope::gpu {

/// Says what becomes of blocks between starts that were given back to a pool.
enum class PoolKeeps {
  blocks,   ///< the next start gets them again, as in a program that allocates in a loop
  nothing,  ///< the stream is synchronised, which makes the pool (by default) give them back to the device
};

/// Returns the request for `bytes` in whole units. The device is current.
[[nodiscard]] AllocationRequest request_for(const RuntimeCalls& calls, int device, Bytes bytes,
                                            gpuStream_t stream);

/// Blocks of memory `memory`, by `calls` on `device`; `room` is kept for as long as they live. `vmm` is a range of
/// addresses reserved, memory created, mapped and made accessible; `registered` is aligned_alloc and registration, which
/// brings the pages in.
[[nodiscard]] std::unique_ptr<host::Allocation> allocate_by_runtime(
    std::shared_ptr<GpuContext> context, int device, const RuntimeCalls& calls, std::string memory,
    Bytes bytes, PoolKeeps keeps, std::unique_ptr<const ManagedRoom> room = {});

/// Room for messages, taken and given back by the call that an application makes for that memory: malloc and free for
/// the system's pages, else the runtime's. Its destructor frees what was not given back.
class MessageMemory {
 public:
  /// `calls`: the memory's, where it has any. `stream`: for calls that allocate in stream order.
  MessageMemory(Endpoint where, int device, const std::optional<RuntimeCalls>& calls, gpuStream_t stream)
      : where_(std::move(where)), device_(device), calls_(calls), stream_(stream) {}
  ~MessageMemory();
  MessageMemory(const MessageMemory&) = delete;
  MessageMemory& operator=(const MessageMemory&) = delete;

  /// The device is current. Throws Error{no_memory}, and Error{unsupported} for memory without calls.
  [[nodiscard]] std::byte* take(Bytes bytes);
  void give_back(std::byte* at);

 private:
  Endpoint where_;
  int device_;
  std::optional<RuntimeCalls> calls_;
  gpuStream_t stream_;
  std::unordered_map<std::byte*, AllocationRequest> taken_;
};

/// The error of a runtime's code where `what` was asked for: Fault::no_memory or Fault::broken.
[[nodiscard]] Error runtime_failure(int code, const std::string& what);

}  // namespace linkscope::gpu
