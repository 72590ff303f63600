#include "backend/host/huge.hpp"

#include "backend/host/mapped_buffer.hpp"
#include "base/error.hpp"

namespace linkscope::host {

namespace {

bool has_transparent() {
  const std::string policy = transparent_huge_policy();
  return policy == "always" || policy == "madvise";
}

}  // namespace

Support Huge::available() const {
  if (huge_page_bytes() == 0) return Support::no("this kernel has no huge pages");
  if (has_transparent()) return Support::yes();
  for (const Node& node : context_->topology().nodes()) {
    if (free_huge_bytes(node.index) > 0) return Support::yes();
  }
  return Support::no("the huge page pool is empty (vm.nr_hugepages) and transparent huge pages are off");
}

Support Huge::supports(const Endpoint& where) const {
  if (const Support any = available(); !any) return any;
  return can_place(*context_, where);
}

std::unique_ptr<Buffer> Huge::allocate(const Endpoint& where, Bytes bytes) const {
  const int node = where.placement == Placement::bound ? where.device.index : where.first_touch.index;
  const Bytes pool = free_huge_bytes(node);
  if (pool >= bytes) {
    try {
      return MappedBuffer::make(context_, where, bytes, Pages::huge_tlb);
    } catch (const Error&) {  // another process was faster, or has reserved what counts as free
      if (!has_transparent()) throw;
    }
  } else if (!has_transparent()) {
    throw Error(Fault::no_memory, format_bytes(bytes) + " do not fit the huge page pool of numa:" +
                                      std::to_string(node) + ", " + format_bytes(pool) + " are free");
  }
  return MappedBuffer::make(context_, where, bytes, Pages::transparent_huge);
}

}  // namespace linkscope::host
