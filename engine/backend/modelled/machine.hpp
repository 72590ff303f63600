// Machine: the described node that the modelled backend stands for, as the plan gives it (plan: machine).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "model/device.hpp"
#include "model/method_figures.hpp"

namespace linkscope::modelled {

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
  std::optional<double> latency_ns;  ///< one way; a load pays it twice. Nothing: in the methods' own latency
};

struct Machine {
  std::string name;
  std::vector<MachineDevice> devices;
  std::vector<MachineLink> links;
  /// Of flows that bring no figures of their own; a method that is not here cannot run.
  std::map<std::string, MethodFigures> methods;
  /// Links on the way from one device to another, in order; what members of a collective and ranks of a schedule take.
  std::map<std::pair<DeviceId, DeviceId>, std::vector<std::string>> routes;
  /// GPUs that can load and store each other's memory; absent: all of them.
  std::optional<std::vector<std::pair<DeviceId, DeviceId>>> peer_access;
  double noise = 0;  ///< relative spread of the virtual clock's spans
};

}  // namespace linkscope::modelled
