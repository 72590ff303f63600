#include "backend/host/small_pages.hpp"

#include "backend/host/mapped_buffer.hpp"

namespace linkscope::host {

// The constructor is private: make_unique cannot reach it.
std::unique_ptr<SmallPages> SmallPages::pageable(std::shared_ptr<HostContext> context) {
  return std::unique_ptr<SmallPages>(
      new SmallPages({"pageable", "what malloc gives: ordinary pages of the system", pageable_traits},
                     std::move(context), Pages::system_policy));
}

std::unique_ptr<SmallPages> SmallPages::shm(std::shared_ptr<HostContext> context) {
  return std::unique_ptr<SmallPages>(
      new SmallPages({"shm", "host memory that other processes of this host can map (memfd)", shm_traits},
                     std::move(context), Pages::shared));
}

Support SmallPages::supports(const Endpoint& where) const { return can_place(*context_, where); }

std::unique_ptr<Buffer> SmallPages::allocate(const Endpoint& where, Bytes bytes) const {
  return MappedBuffer::make(context_, where, bytes, pages_);
}

}  // namespace linkscope::host
