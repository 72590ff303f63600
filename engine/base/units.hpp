// Units: sizes in bytes, times in seconds, so that a bare number never travels.
#pragma once

#include <cstdint>
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
std::string format_bytes(Bytes bytes);

}  // namespace linkscope
