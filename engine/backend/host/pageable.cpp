#include "backend/host/pageable.hpp"

#include "backend/host/mapped_buffer.hpp"

namespace linkscope::host {

Support Pageable::supports(const Endpoint& where) const { return can_place(*context_, where); }

std::unique_ptr<Buffer> Pageable::allocate(const Endpoint& where, Bytes bytes) const {
  return MappedBuffer::make(context_, where, bytes, Pages::system_policy);
}

}  // namespace linkscope::host
