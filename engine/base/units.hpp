// Units: sizes in bytes, times in seconds, so that a bare number never travels.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

namespace linkscope {

using Bytes = std::uint64_t;
using Seconds = double;

inline constexpr Bytes KiB = 1024;
inline constexpr Bytes MiB = 1024 * KiB;
inline constexpr Bytes GiB = 1024 * MiB;

/// `bytes` in whole multiples of `unit`, the last one filled up.
constexpr Bytes round_up(Bytes bytes, Bytes unit) { return (bytes + unit - 1) / unit * unit; }

/// Decimal GB/s of `bytes` moved in `seconds`.
constexpr double gbps(Bytes bytes, Seconds seconds) { return static_cast<double>(bytes) / seconds * 1e-9; }

/// "512 MiB", "96 B": binary, exact or with one decimal.
inline std::string format_bytes(Bytes bytes) {
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
