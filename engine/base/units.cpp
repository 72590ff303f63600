// Writes byte counts the way people of the field read them.
#include "base/units.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace linkscope {

std::string format_bytes(Bytes bytes) {
  static constexpr std::array<const char*, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  double value = static_cast<double>(bytes);
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  value = std::round(value * 10) / 10;
  if (value >= 1024 && unit + 1 < units.size()) {  // 1023.96 KiB is 1 MiB, not 1024.0 KiB
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  const int decimals = value == std::floor(value) ? 0 : 1;
  std::snprintf(text.data(), text.size(), "%.*f %s", decimals, value, units.at(unit));
  return text.data();
}

}  // namespace linkscope
