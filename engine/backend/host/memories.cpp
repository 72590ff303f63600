// The kinds of host memory that the catalog lists, pageable, huge and shm, and their buffers.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "backend/host/backend.hpp"
#include "backend/host/host_buffer.hpp"
#include "base/error.hpp"
#include "base/steady_clock.hpp"

namespace linkscope::host {

namespace {

std::string percent(double share) { return std::to_string(std::lround(share * 100)) + " %"; }

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
    return std::make_unique<MappedBuffer>(context_, where, bytes, pages_);
  }

 private:
  /// Null where transparent ones must do. Throws Error{no_memory} where there are none.
  [[nodiscard]] std::unique_ptr<Buffer> from_huge_pool(const Endpoint& where, Bytes bytes) const {
    const int node = expected_node(where);
    const Bytes pool = free_huge_bytes(node);
    if (pool >= bytes) {
      try {
        return std::make_unique<MappedBuffer>(context_, where, bytes, Pages::huge_tlb);
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

Support can_place(const HostContext& context, const Endpoint& where) {
  if (const Support held = context.can_hold(where.device); !held) return held;
  if (where.placement == Placement::bound) return Support::yes();
  if (const Support touched = context.can_execute(where.first_touch); !touched) {
    return Support::no("pages cannot be touched first by " + where.first_touch.text() + ": " +
                       touched.reason());
  }
  return Support::yes();
}

MappedBuffer::MappedBuffer(std::shared_ptr<HostContext> context, const Endpoint& where, Bytes bytes,
                           PageMapping mapping)
    : HostBuffer(where, bytes, mapping.data(), {}, context->workers(where.device.index)),
      context_(std::move(context)),
      mapping_(std::move(mapping)) {
  const int node = expected_node(where);
  std::optional<int> only;
  if (context_->topology().nodes().size() > 1 && where.placement == Placement::bound) {
    if (const auto refusal = mapping_.bind(node)) {
      remark_ = "binding refused (" + *refusal + "), placed by first touch";
    } else {
      only = node;
    }
  }
  mapping_.touch(context_->workers(node), only);
  huge_share_ = mapping_.huge_share();
  looked_up_at_ = steady_seconds();
  if (mapping_.pages() == Pages::transparent_huge && huge_share_ == 0)
    throw Error(Fault::unsupported, "the system gave no transparent huge page for " + format_bytes(bytes));
}

/// khugepaged looks around every 10 s, unless it is told otherwise.
double MappedBuffer::huge_share() const {
  constexpr Seconds fresh = 10;
  if (steady_seconds() - looked_up_at_ > fresh) {
    huge_share_ = mapping_.huge_share();
    looked_up_at_ = steady_seconds();
  }
  return huge_share_;
}

std::string MappedBuffer::residence() const {
  std::string text = remark_;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (context_->topology().nodes().size() > 1) {
    const int node = expected_node(where());
    const PageMapping::Residence found = mapping_.residence(node);
    if (!found.problem.empty()) {
      add("pages not located: " + found.problem);
    } else if (found.share < 1) {
      add("only " + percent(found.share) + " of pages on numa:" + std::to_string(node) +
          (found.elsewhere < 0 ? "" : ", others on numa:" + std::to_string(found.elsewhere)));
    }
  }
  if (mapping_.pages() == Pages::huge_tlb) {
    add("from the huge page pool");
  } else if (const double share = huge_share(); share > 0) {
    add(percent(share) + " in transparent huge pages [huge-pages]");
  }
  return text;
}

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
