// Push and ring kernels: a table of their types.
#include "collective/kernels/chunk_kernels.hpp"

#include "collective/kernels/push_port.hpp"
#include "collective/kernels/ring_port.hpp"

namespace linkscope::direct {

const void* push_kernel(ElementType type) {
  return by_number(type, [](auto number) {
    return reinterpret_cast<const void*>(&make_calls<PushPort<decltype(number), NoHooks>>);
  });
}

const void* ring_kernel(ElementType type) {
  return by_number(type, [](auto number) {
    return reinterpret_cast<const void*>(&make_calls<RingPort<decltype(number), NoHooks>>);
  });
}

}  // namespace linkscope::direct
