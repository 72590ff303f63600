#include "backend/host/first_touch.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "backend/host/allocation_calls.hpp"
#include "backend/host/backend.hpp"
#include "backend/host/slot_transfer.hpp"

namespace linkscope::host {

namespace {

constexpr std::uint64_t most_fresh = 1024;  // each costs system calls before every start
constexpr Bytes smallest_page = 4096;

std::optional<Bytes> find_other(const std::byte* block, Bytes bytes, int value) {
  const auto wanted = static_cast<std::byte>(value);
  if (block[0] == wanted && std::memcmp(block, block + 1, bytes - 1) == 0) return std::nullopt;
  return static_cast<Bytes>(std::find_if(block, block + bytes, [=](std::byte at) { return at != wanted; }) -
                            block);
}

}  // namespace

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
