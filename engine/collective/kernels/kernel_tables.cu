// The kernels of peers, pushes and rings, by the type of their elements.
#include "collective/kernels/peer_calls.hpp"
#include "collective/kernels/push_port.hpp"
#include "collective/kernels/ring_port.hpp"
#include "model/elements.hpp"

namespace linkscope::direct {
namespace {

template <Combine combine, class Number>
const void* peer_kernel_for() {
  return reinterpret_cast<const void*>(&work_on_peers<combine, Number, NoHooks>);
}

}  // namespace

/// Copies know elements by their length alone.
const void* peer_kernel(Combine combine, ElementType type) {
  if (combine == Combine::copy) {
    return element_bytes(type) == sizeof(std::uint32_t) ? peer_kernel_for<Combine::copy, Int32>()
                                                        : peer_kernel_for<Combine::copy, Float16>();
  }
  return by_number(type, [](auto number) { return peer_kernel_for<Combine::sum, decltype(number)>(); });
}

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
