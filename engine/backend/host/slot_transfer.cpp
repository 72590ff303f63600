#include "backend/host/slot_transfer.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "model/pattern.hpp"

namespace linkscope::host {

namespace {

constexpr Bytes least_share = 64;

}  // namespace

unsigned sharers(Bytes bytes, std::int64_t threads, Bytes cut) {
  return static_cast<unsigned>(std::clamp<Bytes>((bytes + cut - 1) / cut, 1, static_cast<Bytes>(threads)));
}

ThreadShare share_of(Bytes bytes, unsigned part, unsigned parts, Bytes cut) {
  const Bytes pieces = (bytes + cut - 1) / cut;
  const auto offset_of = [&](Bytes index) { return std::min(bytes, pieces * index / parts * cut); };
  return {offset_of(part), offset_of(part + 1) - offset_of(part)};
}

StartCheck::StartCheck(const Arenas& arenas, Bytes bytes) : arenas_(arenas), bytes_(bytes) {}

void StartCheck::change(std::uint64_t seed, std::uint64_t first) {
  if (arenas_.destination == nullptr) return;
  constexpr std::uint64_t most_slots = 16;
  put_back();
  const auto [stride, slots] = arenas_.rotation;
  for (std::uint64_t i = 0; i < std::min(slots, most_slots); ++i) {
    const Bytes at = (first + i) % slots * stride + pattern_word(seed, ++drawn_) % bytes_;
    const auto held =
        static_cast<std::uint8_t>(pattern_word(seed, at / word_bytes) >> (8 * (at % word_bytes)));
    const auto carried = static_cast<std::byte>(arenas_.source == nullptr ? held : held ^ 0xFFU);
    std::byte& to = arenas_.destination->data()[at];
    changed_.push_back({at, first + i, static_cast<std::byte>(held), carried, to});
    if (arenas_.source != nullptr) arenas_.source->data()[at] = carried;
    to = ~carried;
  }
}

std::optional<Mismatch> StartCheck::check(std::uint64_t done) {
  std::optional<Mismatch> wrong;
  for (Changed& one : changed_) {
    if (one.transfer >= done) continue;
    if (arenas_.destination->data()[one.at] != one.carried && !wrong)
      wrong = Mismatch{"transfer " + std::to_string(one.transfer) +
                       " of a pass did nothing, or carried what the source "
                       "held before"};
    one.before = one.held;
  }
  put_back();
  return wrong;
}

void StartCheck::put_back() {
  for (const Changed& one : changed_) {
    if (arenas_.source != nullptr) arenas_.source->data()[one.at] = one.held;
    arenas_.destination->data()[one.at] = one.before;
  }
  changed_.clear();
}

SlotTransfer::SlotTransfer(const Flow& flow, const Arenas& arenas)
    : HostTransfer(flow.executor.index, sharers(flow.bytes, flow.parameters.number(thread_count), line)),
      arenas_(arenas),
      bytes_(flow.bytes),
      start_check_(arenas, flow.bytes) {
  set_check(std::make_unique<CopyCheck>(arenas.source, arenas.destination, flow.bytes, arenas.rotation));
  own_facts().setting = {{"threads", threads()}};
  own_facts().checks_starts = arenas.destination != nullptr;
}

void SlotTransfer::arm(std::uint64_t seed) {
  Transfer::arm(seed);
  start_check_.forget();
}

void SlotTransfer::restore() { start_check_.change(seed(), transfers()); }

void SlotTransfer::rethrow() {
  if (const auto wrong = start_check_.check(transfers())) throw Error(Fault::mismatch, wrong->what);
}

Support threads_available(const HostContext& context, const Flow& flow) {
  if (const Support executor = context.can_execute(flow.executor); !executor) return executor;
  const std::int64_t threads = flow.parameters.number(thread_count);
  const auto cpus = static_cast<std::int64_t>(context.topology().find(flow.executor.index)->cpus.size());
  if (threads > cpus) {
    return Support::no(flow.executor.text() + " has " + std::to_string(cpus) + " CPUs, not " +
                       std::to_string(threads));
  }
  if (threads > 1 && flow.bytes < least_share * static_cast<Bytes>(threads)) {
    return Support::no(std::to_string(flow.bytes) + " B are less than a cache line for each of " +
                       std::to_string(threads) + " threads");
  }
  return Support::yes();
}

}  // namespace linkscope::host
