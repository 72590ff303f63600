#include "backend/modelled/context.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace linkscope::modelled {
namespace {

constexpr double bytes_per_gb = 1e9;

/// Throws Error{bad_input} unless `value` is above zero.
void require_positive(double value, const std::string& what) {
  if (!(value > 0)) throw Error(Fault::bad_input, "the machine's " + what + " must be above zero");
}

}  // namespace

ModelledContext::ModelledContext(Machine machine) : machine_(std::move(machine)) {
  for (const MachineLink& link : machine_.links) {
    require_positive(link.gbps, "link " + link.id + ": gbps");
    if (!links_.emplace(link.id, capacities_.size()).second) {
      throw Error(Fault::bad_input, "the machine names link " + link.id + " twice");
    }
    capacities_.push_back(link.gbps * bytes_per_gb);
  }
  for (const MachineDevice& device : machine_.devices) {
    require_positive(device.memory_gbps, "device " + device.id.text() + ": memory_gbps");
    if (!memories_.emplace(device.id, capacities_.size()).second) {
      throw Error(Fault::bad_input, "the machine names device " + device.id.text() + " twice");
    }
    capacities_.push_back(device.memory_gbps * bytes_per_gb);
  }
}

const MachineDevice* ModelledContext::device(DeviceId id) const {
  const auto found = memories_.find(id);
  return found == memories_.end() ? nullptr : &machine_.devices[found->second - machine_.links.size()];
}

const MethodFigures* ModelledContext::figures(const Flow& flow) const {
  if (flow.figures) return &*flow.figures;
  const auto found = machine_.methods.find(flow.method);
  return found == machine_.methods.end() ? nullptr : &found->second;
}

const MachineLink* ModelledContext::link(const std::string& id) const {
  const auto found = links_.find(id);
  return found == links_.end() ? nullptr : &machine_.links[found->second];
}

std::optional<std::vector<std::string>> ModelledContext::route(DeviceId from, DeviceId to) const {
  if (from == to) return std::vector<std::string>{};
  const auto found = machine_.routes.find({from, to});
  return found == machine_.routes.end() ? std::nullopt : std::optional(found->second);
}

bool ModelledContext::peers(DeviceId from, DeviceId to) const {
  if (from == to || !machine_.peer_access) return true;
  const auto& pairs = *machine_.peer_access;
  return std::find(pairs.begin(), pairs.end(), std::pair{from, to}) != pairs.end();
}

std::string opposite(const std::string& link) {
  const auto arrow = link.find('>');
  if (arrow == std::string::npos) throw Error(Fault::bad_input, "link '" + link + "' is not FROM>TO");
  const auto kind = std::min(link.find('/'), link.size());  // of a parallel link
  return link.substr(arrow + 1, kind - arrow - 1) + ">" + link.substr(0, arrow) + link.substr(kind);
}

}  // namespace linkscope::modelled
