// RuntimeCalls: the calls of the runtime that take and give back one kind of memory.
#pragma once

#include "backend/gpu/vendor.hpp"
#include "base/units.hpp"

namespace linkscope::gpu {

/// What a call is made with, the device being the current one.
struct AllocationRequest {
  int device;
  Bytes bytes;  ///< whole units
  gpuStream_t stream;
  unsigned host_flags;
};

struct RuntimeCalls {
  gpuError_t (*take)(void**, const AllocationRequest&);
  gpuError_t (*give_back)(void*, const AllocationRequest&);
  Bytes (*unit)(int device) = nullptr;  ///< the calls take whole ones of these; null: any bytes
  unsigned host_flags = 0;              ///< further ones of gpuHostAlloc
};

inline gpuError_t free_plain(void* at, const AllocationRequest& /*request*/) { return gpuFree(at); }

}  // namespace linkscope::gpu
