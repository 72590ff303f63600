// The kinds of host memory that the catalog lists: pageable, huge and shm.
#include "backend/host/backend.hpp"

#include <algorithm>
#include <utility>

#include "backend/host/mapped_buffer.hpp"
#include "base/error.hpp"

namespace linkscope::host {

namespace {

/// Pages of one kind: pageable, and shm.
class HostMemory : public Memory {
 public:
  HostMemory(const MemorySpec& spec, std::shared_ptr<HostContext> context, Pages pages)
      : Memory(spec), context_(std::move(context)), pages_(pages) {}

  [[nodiscard]] Support available() const override { return Support::yes(); }
  [[nodiscard]] Support supports(const Endpoint& where) const final {
    const Support any = available();
    return any ? can_place(*context_, where) : any;
  }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override {
    return MappedBuffer::make(context_, where, bytes, pages_);
  }

 protected:
  [[nodiscard]] const std::shared_ptr<HostContext>& context() const { return context_; }

 private:
  std::shared_ptr<HostContext> context_;
  Pages pages_;
};

bool has_transparent() {
  const std::string policy = transparent_huge_policy();
  return policy == "always" || policy == "madvise";
}

class Huge final : public HostMemory {
 public:
  explicit Huge(std::shared_ptr<HostContext> context)
      : HostMemory({"huge", "host memory in huge pages: from the pool, else transparent ones", huge_traits},
                   std::move(context), Pages::transparent_huge) {}

  [[nodiscard]] Support available() const override;
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override;
};

Support Huge::available() const {
  if (huge_page_bytes() == 0) return Support::no("this kernel has no huge pages");
  const std::vector<Node>& nodes = context()->topology().nodes();
  const auto has_some = [](const Node& node) { return free_huge_bytes(node.index) > 0; };
  if (has_transparent() || std::any_of(nodes.begin(), nodes.end(), has_some)) return Support::yes();
  return Support::no("the huge page pool is empty (vm.nr_hugepages) and transparent huge pages are off");
}

std::unique_ptr<Buffer> Huge::allocate(const Endpoint& where, Bytes bytes) const {
  const int node = where.placement == Placement::bound ? where.device.index : where.first_touch.index;
  const Bytes pool = free_huge_bytes(node);
  if (pool >= bytes) {
    try {
      return MappedBuffer::make(context(), where, bytes, Pages::huge_tlb);
    } catch (const Error&) {  // another process was faster, or has reserved what counts as free
      if (!has_transparent()) throw;
    }
  } else if (!has_transparent()) {
    throw Error(Fault::no_memory, format_bytes(bytes) + " do not fit the huge page pool of numa:" +
                                      std::to_string(node) + ", " + format_bytes(pool) + " are free");
  }
  return HostMemory::allocate(where, bytes);
}

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
  return std::make_unique<Huge>(std::move(context));
}

}  // namespace linkscope::host
