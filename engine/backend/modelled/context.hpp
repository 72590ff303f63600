// ModelledContext: the described node, looked up by name. Memories, methods and the gate share one.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/modelled/machine.hpp"
#include "model/flow.hpp"

namespace linkscope::modelled {

/// A link's direction or a device's memory, by its place in ModelledContext::capacities().
using Resource = std::size_t;

class ModelledContext {
 public:
  /// Throws Error{bad_input} for a rate that is not above zero, and for a name given twice.
  explicit ModelledContext(Machine machine);

  [[nodiscard]] const Machine& machine() const { return machine_; }
  /// Null where the node has none of that name.
  [[nodiscard]] const MachineDevice* device(DeviceId id) const;
  /// The flow's own figures, or those of its method.
  [[nodiscard]] const MethodFigures* figures(const Flow& flow) const;
  [[nodiscard]] const MachineLink* link(const std::string& id) const;
  /// Links on the way between two devices, none where both are one; nothing where the plan gives no way.
  [[nodiscard]] std::optional<std::vector<std::string>> route(DeviceId from, DeviceId to) const;

  /// Throws std::out_of_range for a name that device() or link() does not know.
  [[nodiscard]] Resource memory_of(DeviceId id) const { return memories_.at(id); }
  [[nodiscard]] Resource resource_of(const std::string& link) const { return links_.at(link); }
  /// Bytes per second that each resource carries.
  [[nodiscard]] const std::vector<double>& capacities() const { return capacities_; }
  /// Whether `from` can load and store `to`.
  [[nodiscard]] bool peers(DeviceId from, DeviceId to) const;

 private:
  Machine machine_;
  std::map<DeviceId, Resource> memories_;
  std::map<std::string, Resource> links_;  ///< links come first, in the machine's order
  std::vector<double> capacities_;
};

/// "gpu:1>gpu:0" for "gpu:0>gpu:1"; a parallel link keeps its "/kind". Throws Error{bad_input} for a name without '>'.
std::string opposite(const std::string& link);

}  // namespace linkscope::modelled
