// Reads and writes the names of devices.
#include "model/device.hpp"

#include <charconv>

#include "base/error.hpp"

namespace linkscope {

std::string DeviceId::text() const {
  return (kind == DeviceKind::gpu ? "gpu:" : "numa:") + std::to_string(index);
}

DeviceId DeviceId::parse(std::string_view text) {
  const auto colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string_view number =
      colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  DeviceId id;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), id.index);
  const bool whole_number = !number.empty() && error == std::errc{} && end == number.data() + number.size() &&
                            id.index >= 0 && number.front() != '-';
  if (!whole_number || (kind != "gpu" && kind != "numa")) {
    throw Error(Fault::bad_input, "'" + std::string(text) + "' is not a device: say numa:N or gpu:N");
  }
  id.kind = kind == "gpu" ? DeviceKind::gpu : DeviceKind::numa;
  return id;
}

}  // namespace linkscope
