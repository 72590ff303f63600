#include "backend/host/context.hpp"

#include <algorithm>
#include <limits>

#include "backend/host/memory_room.hpp"

namespace linkscope::host {

namespace {

/// How often a rotated arena is as large as the caches: where victims are drawn at random, a share h of a line's visits
/// is served by them with h = exp(-turns * (1 - h)): a fifth at 2 turns, 0.03 % at 8.
constexpr Bytes turns_of_cache = 8;
constexpr Bytes rotated_share = 16;
/// The caches that a virtual machine shows may be what its maker typed. These are what servers have: 32 MiB that a few
/// cores share, or 2 MiB for each hardware thread.
constexpr Bytes least_guest_cache = 32 * MiB;
constexpr Bytes guest_cache_of_cpu = 2 * MiB;

Bytes caches_of(const Topology& topology, const Node& node) {
  if (!topology.virtual_machine()) return node.llc_bytes;
  return std::max({node.llc_bytes, least_guest_cache, guest_cache_of_cpu * node.cpus.size()});
}

}  // namespace

HostContext::HostContext(Topology topology)
    : topology_(std::move(topology)),
      most_rotated_(MemoryRoom::now().value_or(std::numeric_limits<Bytes>::max()) / rotated_share) {
  for (const Node& node : topology_.nodes()) {
    if (!node.cpus.empty()) pools_.try_emplace(node.index, node.cpus);
  }
}

WorkerPool& HostContext::workers(int node) { return pools_.at(topology_.nearest_with_cpus(node).index); }

Support HostContext::can_execute(const DeviceId& device) const {
  if (device.kind != DeviceKind::numa) return Support::no(device.text() + " is not a CPU");
  const Node* node = topology_.find(device.index);
  if (node == nullptr) return Support::no("this machine has no " + device.text());
  if (node->cpus.empty()) return Support::no(device.text() + " has no CPU this process may use");
  return Support::yes();
}

Support HostContext::can_hold(const DeviceId& device) const {
  if (device.kind != DeviceKind::numa) return Support::no(device.text() + " is not host memory");
  const Node* node = topology_.find(device.index);
  if (node == nullptr) return Support::no("this machine has no " + device.text());
  if (node->memory_bytes == 0) return Support::no(device.text() + " has no memory");
  if (!node->usable_memory) return Support::no("the cpuset forbids memory on " + device.text());
  return Support::yes();
}

Support HostContext::reachable(const Endpoint& where) const {
  if (where.device.kind == DeviceKind::numa) return Support::yes();
  if (reach_) return reach_(where);
  return Support::no("CPUs reach host memory only, not " + where.memory + " memory of " +
                     where.device.text());
}

Bytes HostContext::last_level_cache(const DeviceId& device) const {
  const Node* const node = device.kind == DeviceKind::numa ? topology_.find(device.index) : nullptr;
  return node == nullptr ? 0 : node->llc_bytes;
}

Bytes HostContext::rotation_bytes(const std::set<DeviceId>& devices) const {
  Bytes caches = 0;
  for (const DeviceId& device : devices) {
    if (device.kind != DeviceKind::numa) continue;
    if (const Node* node = topology_.find(device.index)) caches += caches_of(topology_, *node);
  }
  return std::min(turns_of_cache * caches, std::max(most_rotated_, 2 * caches));
}

}  // namespace linkscope::host
