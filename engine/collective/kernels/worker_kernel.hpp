// Worker kernels: what push and ring kernels have in common, whose blocks are each a worker of a protocol.
#pragma once

#include <cstdint>

#include "backend/gpu/vendor.hpp"
#include "collective/kernels/numbers.hpp"
#include "collective/kernels/peer_barrier.hpp"
#include "collective/kernels/self_check.hpp"
#include "collective/protocol/workspace.hpp"

namespace linkscope::direct {

/// A Port is made of its Work and how many calls there were before this launch, and its repeat() makes the launch's.
template <class Port>
__global__ void LINKSCOPE_RESIDENT(Port::threads, Port::blocks_each)
    make_calls(LINKSCOPE_IN_PLACE typename Port::Work work, LaunchArguments launch) {
  programmatic_prologue(work, launch.dependent);
  std::uint64_t& calls = workspace_of(work.peers, work.peers.me).calls[blockIdx.x];
  const std::uint64_t made = calls;
  Port port(work, made);
  port.repeat(launch.calls);
  __syncthreads();  // all have read how many calls there were
  if (threadIdx.x == 0) calls = made + launch.calls;
}

template <template <class, SelfCheck> class Port>
const void* worker_kernel(ElementType type, SelfCheck self_check) {
  return by_number(type, [&](auto number) {
    using Number = decltype(number);
    if constexpr (Number::type == ElementType::int32) {
      if (self_check == SelfCheck::on)
        return reinterpret_cast<const void*>(&make_calls<Port<Number, SelfCheck::on>>);
    }
    return reinterpret_cast<const void*>(&make_calls<Port<Number, SelfCheck::off>>);
  });
}

}  // namespace linkscope::direct
