#include "backend/host/mapped_buffer.hpp"

#include <cmath>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/steady_clock.hpp"

namespace linkscope::host {

namespace {

std::string percent(double share) { return std::to_string(std::lround(share * 100)) + " %"; }

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

std::unique_ptr<MappedBuffer> MappedBuffer::make(std::shared_ptr<HostContext> context, const Endpoint& where,
                                                 Bytes bytes, Pages pages) {
  PageMapping mapping(bytes, pages);
  const int node = expected_node(where);
  const bool several = context->topology().nodes().size() > 1;
  std::string remark;
  std::optional<int> only;
  if (several && where.placement == Placement::bound) {
    if (const auto refusal = mapping.bind(node)) {
      remark = "binding refused (" + *refusal + "), placed by first touch";
    } else {
      only = node;
    }
  }
  mapping.touch(context->workers(node), only);
  const double huge_share = mapping.huge_share();
  if (pages == Pages::transparent_huge && huge_share == 0) {
    throw Error(Fault::unsupported, "the system gave no transparent huge page for " + format_bytes(bytes));
  }
  // The constructor is private: make_unique cannot reach it.
  return std::unique_ptr<MappedBuffer>(
      new MappedBuffer(std::move(context), where, bytes, std::move(mapping), std::move(remark), huge_share));
}

MappedBuffer::MappedBuffer(std::shared_ptr<HostContext> context, const Endpoint& where, Bytes bytes,
                           PageMapping mapping, std::string remark, double huge_share)
    : HostBuffer(where, bytes, mapping.data(), {}, context->workers(where.device.index)),
      context_(std::move(context)),
      mapping_(std::move(mapping)),
      remark_(std::move(remark)),
      huge_share_(huge_share),
      looked_up_at_(steady_seconds()) {}

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

}  // namespace linkscope::host
