// What memory answers that holds no elements.
#include "model/buffer.hpp"

#include "base/error.hpp"

namespace linkscope {
namespace {

[[noreturn]] void refuse(const Endpoint& where) {
  throw Error(Fault::unsupported,
              where.memory + " memory of " + where.device.text() + " holds no elements to reduce");
}

}  // namespace

void Buffer::fill_elements(Bytes /*offset*/, Bytes /*length*/, const Elements& /*elements*/,
                           std::uint64_t /*seed*/) {
  refuse(where_);
}

std::optional<Bytes> Buffer::compare_elements(Bytes /*offset*/, Bytes /*length*/,
                                              const Elements& /*elements*/, std::uint64_t /*seed*/) const {
  refuse(where_);
}

}  // namespace linkscope
