// Self-check: what a kernel's threads note of results that they have looked at.
#pragma once

#include <cstdint>

#include "backend/gpu/vendor.hpp"
#include "collective/protocol/workspace.hpp"

namespace linkscope::direct {

/// Self-checks are of int32.
inline constexpr Bytes checked_element_bytes = sizeof(std::int32_t);

/// One thread's count of elements of results.
class CheckCounters {
 public:
  __device__ void look(std::uint64_t call, int found, int expected) {
    ++checked_;
    if (found == expected) return;
    ++wrong_;
    wrong_call_ = call;
  }
  /// Adds it to the workspace's, once.
  __device__ void tell(Workspace::Notices& notices) const {
    add(notices.checked, checked_);
    if (wrong_ == 0) return;
    add(notices.wrong, wrong_);
    notices.wrong_call = wrong_call_;
  }

 private:
  using Counter = gpu::vendor::Counter;
  __device__ static void add(std::uint64_t& sum, Counter count) {
    gpu::vendor::atomic_add<gpu::vendor::Scope::device>(reinterpret_cast<Counter*>(&sum), count);
  }

  Counter checked_ = 0;
  Counter wrong_ = 0;
  std::uint64_t wrong_call_ = 0;
};

}  // namespace linkscope::direct
