// allocate, free and first-touch: what their calls time.
#include "backend/host/allocation.hpp"

#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "backend/host/backend.hpp"
#include "backend/host/page_mapping.hpp"
#include "backend/host/slot_transfer.hpp"

namespace linkscope::host {

namespace {

constexpr int too_many = std::numeric_limits<int>::min();  // no system's or vendor's code

constexpr std::uint64_t most_held = 4096;  // a malloc takes some 20 ns: enough for a sample

constexpr std::uint64_t most_fresh = 1024;  // each costs system calls before every start
constexpr Bytes smallest_page = 4096;

std::optional<Bytes> find_other(const std::byte* block, Bytes bytes, int value) {
  const auto wanted = static_cast<std::byte>(value);
  if (block[0] == wanted && std::memcmp(block, block + 1, bytes - 1) == 0) return std::nullopt;
  return static_cast<Bytes>(std::find_if(block, block + bytes, [=](std::byte at) { return at != wanted; }) -
                            block);
}

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

FreshBlocks::FreshBlocks(HostContext& context, int node, std::unique_ptr<Allocation> allocation,
                         const BlockCount& many)
    : blocks_(std::move(allocation), many.count, context.workers(node)),
      many_(many),
      workers_(context.workers(node)) {}

void FreshBlocks::renew(std::uint64_t touched) {
  blocks_.give_back_first(std::min(touched, many_.count));
  blocks_.take_first(many_.count);
}

std::optional<Mismatch> FreshBlocks::find_wrong(std::uint64_t touched) const {
  if (touched > many_.count) return Mismatch{"more blocks were to be touched than a start may hold"};
  for (std::uint64_t i = 0; i < touched; ++i) {
    std::optional<Bytes> bad;
    workers_.run([&] { bad = find_other(blocks_.at(i), many_.bytes, value_); });
    if (!bad) continue;
    return Mismatch{"byte " + std::to_string(*bad) + " of " + std::to_string(many_.bytes) +
                    " in fresh block " + std::to_string(i) + " does not hold what was written"};
  }
  return std::nullopt;
}

FirstTouchTransfer::FirstTouchTransfer(int node, std::int64_t threads, std::unique_ptr<FreshBlocks> blocks)
    : HostTransfer(node, sharers(blocks->many().bytes, threads, smallest_page)), blocks_(std::move(blocks)) {
  own_facts().max_repeats = blocks_->many().count;
  own_facts().setting = {{"threads", this->threads()}};
}

void FirstTouchTransfer::arm(std::uint64_t seed) {
  blocks_->renew(touched());
  blocks_->arm(seed);
  Transfer::arm(seed);
  renewed_at_ = 0;
}

void FirstTouchTransfer::restore() {
  blocks_->renew(touched());
  renewed_at_ = transfers();
}

void FirstTouchTransfer::perform(unsigned part, std::uint64_t first, std::uint64_t repeats) noexcept {
  const auto [offset, size] = share_of(blocks_->many().bytes, part, threads(), smallest_page);
  for (std::uint64_t i = 0; i < repeats; ++i) {
    const Block block = blocks_->at(first - renewed_at_ + i);
    if (block != nullptr) std::memset(block + offset, blocks_->value(), size);
  }
}

std::optional<Mismatch> FirstTouchTransfer::verify(std::uint64_t /*seed*/) const {
  return blocks_->find_wrong(touched());
}

Method host_first_touch(const std::shared_ptr<HostContext>& context) {
  Method row{{"first-touch", "time to write a fresh allocation for the first time", Quantity::latency,
              first_touch_traits},
             {thread_count}};
  row.supports = [context](const Flow& flow) {
    const Support named = names_host_memory(flow);
    return named ? threads_available(*context, flow) : named;
  };
  row.footprint = [](const Flow&) { return Bytes{0}; };
  row.prepare = [context](const Flow& flow, const Arenas&) {
    const int node = flow.executor.index;
    return std::make_unique<FirstTouchTransfer>(node, flow.parameters.number(thread_count),
                                                fresh_host_blocks(*context, node, flow));
  };
  return row;
}

std::unique_ptr<FreshBlocks> fresh_host_blocks(HostContext& context, int node, const Flow& flow) {
  const Endpoint& where = *flow.destination;
  std::optional<int> bound;
  const bool several = context.topology().nodes().size() > 1;
  if (several && where.placement == Placement::bound) bound = where.device.index;
  const std::optional<int> room_on = several ? std::optional<int>(bound.value_or(node)) : std::nullopt;
  const BlockCount many = host_blocks_to_hold(where.traits, flow.bytes, room_on, most_fresh);
  return std::make_unique<FreshBlocks>(context, node,
                                       map_on_host(where.traits, many, room_on.value_or(node), bound), many);
}

}  // namespace linkscope::host
