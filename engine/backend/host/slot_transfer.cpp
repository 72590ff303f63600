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

SlotTransfer::SlotTransfer(const Flow& flow, const Arenas& arenas)
    : HostTransfer(flow.executor.index, sharers(flow.bytes, flow.parameters.number(thread_count), line)),
      arenas_(arenas),
      bytes_(flow.bytes) {
  set_check(std::make_unique<CopyCheck>(arenas.source, arenas.destination, flow.bytes, arenas.rotation));
  own_facts().setting = {{"threads", threads()}};
  own_facts().checks_starts = arenas.destination != nullptr;
}

void SlotTransfer::arm(std::uint64_t seed) {
  Transfer::arm(seed);
  changed_.clear();
}

void SlotTransfer::restore() {
  if (arenas_.destination == nullptr) return;
  constexpr std::uint64_t most_slots = 16;
  put_back();
  const auto [stride, slots] = arenas_.rotation;
  for (std::uint64_t i = 0; i < std::min(slots, most_slots); ++i) {
    const std::uint64_t transfer = transfers() + i;
    const Bytes at = transfer % slots * stride + pattern_word(seed(), ++drawn_) % bytes_;
    const auto held =
        static_cast<std::uint8_t>(pattern_word(seed(), at / word_bytes) >> (8 * (at % word_bytes)));
    const auto carried = static_cast<std::byte>(arenas_.source == nullptr ? held : held ^ 0xFFU);
    std::byte& to = arenas_.destination->data()[at];
    changed_.push_back({at, transfer, static_cast<std::byte>(held), carried, to});
    if (arenas_.source != nullptr) arenas_.source->data()[at] = carried;
    to = ~carried;
  }
}

void SlotTransfer::rethrow() {
  std::optional<std::uint64_t> wrong;
  for (Changed& one : changed_) {
    if (one.transfer >= transfers()) continue;
    if (arenas_.destination->data()[one.at] != one.carried && !wrong) wrong = one.transfer;
    one.before = one.held;
  }
  put_back();
  if (wrong)
    throw Error(Fault::mismatch, "transfer " + std::to_string(*wrong) +
                                     " of a pass did nothing, or carried what the source held before");
}

void SlotTransfer::put_back() {
  for (const Changed& one : changed_) {
    if (arenas_.source != nullptr) arenas_.source->data()[one.at] = one.held;
    arenas_.destination->data()[one.at] = one.before;
  }
  changed_.clear();
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
