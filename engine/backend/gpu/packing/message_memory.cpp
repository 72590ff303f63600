#include "backend/gpu/packing/message_memory.hpp"

#include <cstdlib>
#include <utility>

#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/runtime_allocation.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {

MessageMemory::MessageMemory(std::shared_ptr<GpuContext> context, Endpoint where, int device,
                             const std::optional<RuntimeCalls>& calls, gpuStream_t stream)
    : context_(std::move(context)),
      where_(std::move(where)),
      device_(device),
      calls_(calls),
      stream_(stream) {}

MessageMemory::~MessageMemory() {
  for (const auto& [at, bytes] : taken_) {
    if (calls_) {
      static_cast<void>(calls_->give_back(at, request(bytes)));
    } else {
      std::free(at);
    }
  }
  static_cast<void>(gpuGetLastError());
}

std::byte* MessageMemory::take(Bytes bytes) {
  void* at = nullptr;
  if (calls_) {
    bytes = whole_units(bytes);
    const gpuError_t status = calls_->take(&at, request(bytes));
    if (status != gpuSuccess)
      throw runtime_failure(static_cast<int>(status),
                            format_bytes(bytes) + " of " + where_.memory + " memory");
  } else if (where_.traits.is_private() && !where_.traits.huge_pages) {
    at = std::malloc(bytes);
    if (at == nullptr)
      throw Error(Fault::no_memory, format_bytes(bytes) + " of " + where_.memory + " memory");
  } else {
    throw Error(Fault::unsupported, where_.memory + " memory is not allocated message by message");
  }
  auto* const address = static_cast<std::byte*>(at);
  taken_[address] = bytes;
  return address;
}

void MessageMemory::give_back(std::byte* at) {
  const auto found = taken_.find(at);
  if (found == taken_.end()) throw Error(Fault::broken, "room for a message is given back that nobody took");
  const Bytes bytes = found->second;
  taken_.erase(found);
  if (!calls_) {
    std::free(at);
    return;
  }
  const gpuError_t status = calls_->give_back(at, request(bytes));
  if (status != gpuSuccess)
    throw runtime_failure(static_cast<int>(status), where_.memory + " memory given back");
}

Bytes MessageMemory::whole_units(Bytes bytes) const {
  return calls_->unit == nullptr ? bytes : round_up(bytes, calls_->unit(device_));
}

AllocationRequest MessageMemory::request(Bytes bytes) const {
  return {device_, bytes, stream_, calls_->host_flags};
}

}  // namespace linkscope::gpu
