// Machine: the described node that the modelled backend stands for, as the plan gives it (plan: machine).
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "model/device.hpp"

namespace linkscope::modelled {

inline constexpr double unlimited = std::numeric_limits<double>::infinity();

/// A place of the described node. Rates are decimal GB/s of reads and writes together.
struct MachineDevice {
  DeviceId id;
  std::string name;
  Bytes memory_bytes = 0;                   ///< 0: not known
  double memory_gbps = unlimited;           ///< what its memory serves, reads and writes together
  std::optional<double> memory_latency_ns;  ///< of a dependent load from the device itself
};

/// One direction of a link, named "from>to" (gpu:0>gpu:1).
struct MachineLink {
  std::string id;
  double gbps = unlimited;
  double latency_ns = 0;  ///< one way; a load pays it twice
};

/// What a method costs and reaches on the described node.
struct MachineMethod {
  double latency_us = 0;            ///< fixed cost of one operation
  double step_us = 0;               ///< of a collective: more for each of its steps
  double ceiling_gbps = unlimited;  ///< most that one flow gets, whatever its links
  double efficiency = 1;            ///< share of a link's (and a memory's) peak that becomes payload
};

struct Machine {
  std::string name;
  std::vector<MachineDevice> devices;
  std::vector<MachineLink> links;
  std::map<std::string, MachineMethod> methods;  ///< a method that is not here cannot run
  /// Links on the way from one device to another, in order; what a collective's members take.
  std::map<std::pair<DeviceId, DeviceId>, std::vector<std::string>> routes;
  /// GPUs that can load and store each other's memory; absent: all of them.
  std::optional<std::vector<std::pair<DeviceId, DeviceId>>> peer_access;
  double noise = 0;  ///< relative spread of the virtual clock's spans
};

}  // namespace linkscope::modelled
