// The kinds of host memory that the catalog lists: pageable, huge and shm.
#include "backend/host/backend.hpp"

#include <algorithm>
#include <utility>

#include "backend/host/mapped_buffer.hpp"
#include "base/error.hpp"

namespace linkscope::host {

namespace {

bool has_transparent() {
  const std::string policy = transparent_huge_policy();
  return policy == "always" || policy == "madvise";
}

class HostMemory final : public Memory {
 public:
  /// `pages`: transparent_huge stands for those of the pool too.
  HostMemory(const MemorySpec& spec, std::shared_ptr<HostContext> context, Pages pages)
      : Memory(spec), context_(std::move(context)), pages_(pages) {}

  [[nodiscard]] Support available() const override {
    if (!traits().huge_pages) return Support::yes();
    if (huge_page_bytes() == 0) return Support::no("this kernel has no huge pages");
    const std::vector<Node>& nodes = context_->topology().nodes();
    const auto has_some = [](const Node& node) { return free_huge_bytes(node.index) > 0; };
    if (has_transparent() || std::any_of(nodes.begin(), nodes.end(), has_some)) return Support::yes();
    return Support::no("the huge page pool is empty (vm.nr_hugepages) and transparent huge pages are off");
  }
  [[nodiscard]] Support supports(const Endpoint& where) const override {
    const Support any = available();
    return any ? can_place(*context_, where) : any;
  }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override {
    if (traits().huge_pages) {
      if (auto from_pool = from_huge_pool(where, bytes)) return from_pool;
    }
    return MappedBuffer::make(context_, where, bytes, pages_);
  }

 private:
  /// Null where transparent ones must do. Throws Error{no_memory} where there are none.
  [[nodiscard]] std::unique_ptr<Buffer> from_huge_pool(const Endpoint& where, Bytes bytes) const {
    const int node = expected_node(where);
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
    return nullptr;
  }

  std::shared_ptr<HostContext> context_;
  Pages pages_;
};

}  // namespace

std::unique_ptr<Memory> pageable_memory(std::shared_ptr<HostContext> context) {
  const MemorySpec spec{"pageable", "what malloc gives: ordinary pages of the system", pageable_traits};
  return std::make_unique<HostMemory>(spec, std::move(context), Pages::system_policy);
}

std::unique_ptr<Memory> shm_memory(std::shared_ptr<HostContext> context) {
  const MemorySpec spec{"shm", "host memory that other processes of this host can map (memfd)", shm_traits};
  return std::make_unique<HostMemory>(spec, std::move(context), Pages::shared);
}

std::unique_ptr<Memory> huge_memory(std::shared_ptr<HostContext> context) {
  const MemorySpec spec{"huge", "host memory in huge pages: from the pool, else transparent ones",
                        huge_traits};
  return std::make_unique<HostMemory>(spec, std::move(context), Pages::transparent_huge);
}

}  // namespace linkscope::host
