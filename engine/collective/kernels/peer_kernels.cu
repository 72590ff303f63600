// Peer kernels: a table of their types.
#include "collective/kernels/peer_calls.hpp"
#include "model/elements.hpp"

namespace linkscope::direct {
namespace {

template <Combine combine, class Number>
const void* kernel_for() {
  return reinterpret_cast<const void*>(&work_on_peers<combine, Number, NoHooks>);
}

}  // namespace

/// Copies know elements by their length alone.
const void* peer_kernel(Combine combine, ElementType type) {
  if (combine == Combine::copy) {
    return element_bytes(type) == sizeof(std::uint32_t) ? kernel_for<Combine::copy, Int32>()
                                                        : kernel_for<Combine::copy, Float16>();
  }
  return by_number(type, [](auto number) { return kernel_for<Combine::sum, decltype(number)>(); });
}

}  // namespace linkscope::direct
