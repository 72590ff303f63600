#include "backend/host/slot_transfer.hpp"

#include <algorithm>

namespace linkscope::host {

namespace {

constexpr Bytes least_share = 64;

std::int64_t threads_of(const Flow& flow) { return flow.parameters.number("threads", 1); }

}  // namespace

ThreadShare share_of(Bytes bytes, unsigned part, unsigned parts, Bytes cut) {
  const Bytes share = (bytes / parts + cut - 1) / cut * cut;
  const Bytes offset = std::min(bytes, share * part);
  return {offset, part + 1 == parts ? bytes - offset : std::min(share, bytes - offset)};
}

SlotTransfer::SlotTransfer(const Flow& flow, const Arenas& arenas)
    : HostTransfer(flow.executor.index, static_cast<unsigned>(threads_of(flow))),
      arenas_(arenas),
      bytes_(flow.bytes),
      check_(arenas.source, arenas.destination, flow.bytes, arenas.rotation) {
  own_facts().setting = {{"threads", threads()}};
}

void SlotTransfer::arm(std::uint64_t seed) {
  restart();
  check_.arm(seed);
}

std::map<std::string, std::string> thread_parameters() {
  return {{"threads", "CPU threads that share the work, each on its own CPU of the executor; default 1"}};
}

Support threads_available(const HostContext& context, const Flow& flow) {
  if (const Support executor = context.can_execute(flow.executor); !executor) return executor;
  const std::int64_t threads = threads_of(flow);
  const auto cpus = static_cast<std::int64_t>(context.topology().find(flow.executor.index)->cpus.size());
  if (threads < 1) return Support::no(flow.method + " needs at least one thread");
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

bool wants_non_temporal(const Flow& flow) { return flow.parameters.number("non_temporal", 0) == 1; }

Support non_temporal_understood(const Flow& flow) {
  const std::int64_t value = flow.parameters.number("non_temporal", 0);
  return value == 0 || value == 1 ? Support::yes() : Support::no("non_temporal is 0 or 1");
}

}  // namespace linkscope::host
