// Device: a place that computes or owns memory.
#pragma once

#include <compare>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.hpp"

namespace linkscope {

enum class DeviceKind { numa, gpu };

/// Names a device as plans and rows do: "gpu:0", "numa:1".
struct DeviceId {
  DeviceKind kind = DeviceKind::numa;
  int index = 0;

  auto operator<=>(const DeviceId&) const = default;
  [[nodiscard]] std::string text() const;
  /// Throws Error{bad_input} for anything but "numa:N" or "gpu:N".
  static DeviceId parse(std::string_view text);
};

/// What `describe` says of one device. Fields that do not apply stay empty or negative.
struct DeviceFacts {
  DeviceId id;
  std::string name;
  Bytes memory_bytes = 0;
  std::string pci;        ///< domain:bus:device.function, lower case
  int numa = -1;          ///< nearest NUMA node, as the system says
  std::vector<int> cpus;  ///< of a NUMA node
  std::map<std::string, std::string> attributes;
};

}  // namespace linkscope
