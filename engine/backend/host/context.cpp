#include "backend/host/context.hpp"

#include <algorithm>

namespace linkscope::host {

HostContext::HostContext(Topology topology) : topology_(std::move(topology)) {
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
  Support answer =
      Support::no("CPUs reach host memory only, not " + where.memory + " memory of " + where.device.text());
  for (const Reach& reach : reaches_) {
    answer = reach(where);
    if (answer) return answer;
  }
  return answer;
}

Bytes HostContext::largest_cache(std::initializer_list<DeviceId> devices) const {
  Bytes largest = 0;
  for (const DeviceId& device : devices) {
    if (device.kind != DeviceKind::numa) continue;
    if (const Node* node = topology_.find(device.index)) largest = std::max(largest, node->llc_bytes);
  }
  return largest;
}

}  // namespace linkscope::host
