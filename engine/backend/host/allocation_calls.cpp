#include "backend/host/allocation_calls.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "backend/host/backend.hpp"
#include "backend/host/page_mapping.hpp"

namespace linkscope::host {

namespace {

constexpr int too_many = std::numeric_limits<int>::min();  // no system's or vendor's code

constexpr std::uint64_t most_held = 4096;  // a malloc takes some 20 ns: enough for a sample

Method calls_by(const MethodSpec& spec, const std::shared_ptr<HostContext>& context, Measured measured) {
  Method row{spec, {}};
  row.supports = [context](const Flow& flow) {
    const Support named = names_host_memory(flow);
    return named ? context->can_execute(flow.executor) : named;
  };
  row.footprint = [](const Flow&) { return Bytes{0}; };
  row.prepare = [=](const Flow& flow, const Arenas&) {
    return make_host_calls(*context, flow.executor.index, flow, measured);
  };
  return row;
}

}  // namespace

AllocationCalls::AllocationCalls(HostContext& context, int node, std::unique_ptr<Allocation> allocation,
                                 std::uint64_t capacity, Measured measured, Keeper keeper)
    : HostTransfer(node, 1),
      blocks_(std::move(allocation), capacity + (keeper == Keeper::one ? 1 : 0), context.workers(node)),
      capacity_(capacity),
      measured_(measured) {
  if (keeper == Keeper::one) blocks_.take_one(capacity);
  own_facts().max_repeats = capacity;
  own_facts().setting = {{"held", static_cast<std::int64_t>(capacity)}};
}

AllocationCalls::~AllocationCalls() {
  if (measured_ == Measured::give_back) blocks_.forget_first(used_);
}

void AllocationCalls::arm(std::uint64_t seed) {
  Transfer::arm(seed);
  code_ = 0;
  wrong_.reset();
}

void AllocationCalls::restore() {
  inspect();
  const std::uint64_t used = std::exchange(used_, 0);
  if (measured_ == Measured::take) {
    blocks_.give_back_first(used);
  } else {
    blocks_.allocation().settle();
    blocks_.forget_first(used);
    blocks_.take_first(capacity_);
  }
}

void AllocationCalls::inspect() {
  if (measured_ == Measured::take && code_ == 0 && !wrong_) wrong_ = blocks_.inspect_first(used_);
}

void AllocationCalls::perform(unsigned /*part*/, std::uint64_t /*first*/, std::uint64_t repeats) noexcept {
  const std::uint64_t count = std::min(repeats, capacity_ - used_);
  if (count < repeats) code_ = code_ == 0 ? too_many : code_;
  const int code =
      measured_ == Measured::take ? blocks_.take_here(used_, count) : blocks_.give_back_here(used_, count);
  used_ += count;
  if (code_ == 0) code_ = code;
}

std::optional<Mismatch> AllocationCalls::verify(std::uint64_t /*seed*/) const {
  if (code_ == too_many) return Mismatch{"more calls were asked for than blocks may be held"};
  if (code_ != 0) return Mismatch{blocks_.allocation().failure(code_).what()};
  if (wrong_) return Mismatch{*wrong_};
  if (measured_ == Measured::give_back) return std::nullopt;
  const auto wrong = blocks_.inspect_first(used_);
  return wrong ? std::optional(Mismatch{*wrong}) : std::nullopt;
}

Support names_host_memory(const Flow& flow) {
  if (flow.source || !flow.destination) {
    return Support::no(flow.method + " has no source, and a destination that names the memory");
  }
  const Endpoint& where = *flow.destination;
  if (!where.traits.is_private()) {
    return Support::no(flow.method + " by a CPU knows pageable and huge memory, not " + where.memory);
  }
  if (where.traits.huge_pages && huge_page_bytes() == 0) return Support::no("this kernel has no huge pages");
  if (where.device.kind == DeviceKind::numa) return Support::yes();
  return Support::no(where.memory + " memory is on NUMA nodes, not on " + where.device.text());
}

std::unique_ptr<Transfer> make_host_calls(HostContext& context, int node, const Flow& flow,
                                          Measured measured) {
  const bool several = context.topology().nodes().size() > 1;
  const BlockCount many = host_blocks_to_hold(flow.destination->traits, flow.bytes,
                                              several ? std::optional<int>(node) : std::nullopt, most_held);
  return std::make_unique<AllocationCalls>(
      context, node, allocate_on_host(flow.destination->traits, many, node), many.count, measured);
}

Method host_allocate(const std::shared_ptr<HostContext>& context) {
  return calls_by({"allocate", "time of one allocation, untouched", Quantity::latency, allocation_traits},
                  context, Measured::take);
}

Method host_free(const std::shared_ptr<HostContext>& context) {
  return calls_by({"free", "time to give one untouched block back", Quantity::latency, allocation_traits},
                  context, Measured::give_back);
}

}  // namespace linkscope::host
