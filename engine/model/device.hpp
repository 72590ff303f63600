// Device: a place that computes or owns memory.
#pragma once

#include <charconv>
#include <compare>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"

namespace linkscope {

enum class DeviceKind { numa, gpu };

/// Names a device as plans and rows do: "gpu:0", "numa:1".
struct DeviceId {
  DeviceKind kind = DeviceKind::numa;
  int index = 0;

  auto operator<=>(const DeviceId&) const = default;
  [[nodiscard]] std::string text() const {
    return (kind == DeviceKind::gpu ? "gpu:" : "numa:") + std::to_string(index);
  }
  /// Throws Error{bad_input} for anything but "numa:N" or "gpu:N".
  static DeviceId parse(std::string_view text) {
    const auto colon = text.find(':');
    const std::string_view kind = text.substr(0, colon);
    const std::string_view number =
        colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
    DeviceId id;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), id.index);
    const bool whole_number = !number.empty() && error == std::errc{} &&
                              end == number.data() + number.size() && id.index >= 0 && number.front() != '-';
    if (!whole_number || (kind != "gpu" && kind != "numa")) {
      throw Error(Fault::bad_input, "'" + std::string(text) + "' is not a device: say numa:N or gpu:N");
    }
    id.kind = kind == "gpu" ? DeviceKind::gpu : DeviceKind::numa;
    return id;
  }
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
