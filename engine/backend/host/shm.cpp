#include "backend/host/shm.hpp"

#include "backend/host/mapped_buffer.hpp"

namespace linkscope::host {

Support Shm::supports(const Endpoint& where) const { return can_place(*context_, where); }

std::unique_ptr<Buffer> Shm::allocate(const Endpoint& where, Bytes bytes) const {
  return MappedBuffer::make(context_, where, bytes, Pages::shared);
}

}  // namespace linkscope::host
