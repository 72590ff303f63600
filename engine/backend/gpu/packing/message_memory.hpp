// MessageMemory: room for messages, taken and given back by the call that an application makes for that memory.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <unordered_map>

#include "backend/gpu/memory/gpu_memory.hpp"
#include "base/units.hpp"
#include "model/buffer.hpp"

namespace linkscope::gpu {

class GpuContext;

/// Calls malloc and free for the system's pages, else the runtime. Its destructor frees what was not given back.
class MessageMemory {
 public:
  /// `calls`: the memory's, where it has any. `stream`: for calls that allocate in stream order.
  MessageMemory(std::shared_ptr<GpuContext> context, Endpoint where, int device,
                const std::optional<RuntimeCalls>& calls, gpuStream_t stream);
  ~MessageMemory();
  MessageMemory(const MessageMemory&) = delete;
  MessageMemory& operator=(const MessageMemory&) = delete;

  /// Throws Error{no_memory}, and Error{unsupported} for memory without calls.
  [[nodiscard]] std::byte* take(Bytes bytes);
  void give_back(std::byte* at);

 private:
  [[nodiscard]] Bytes whole_units(Bytes bytes) const;
  [[nodiscard]] AllocationRequest request(Bytes bytes) const;

  std::shared_ptr<GpuContext> context_;
  Endpoint where_;
  int device_;
  std::optional<RuntimeCalls> calls_;
  gpuStream_t stream_;
  std::unordered_map<std::byte*, Bytes> taken_;
};

}  // namespace linkscope::gpu
