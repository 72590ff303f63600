// Reading what Linux says in /proc and /sys: one value, one list or one "Key: value" line at a time.
#pragma once

#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace linkscope::host {

/// First line of a file, without its end; nothing where it cannot be read.
inline std::optional<std::string> read_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

/// A number with the suffixes K, M and G that cache files use, or in kB; nothing for "max" and other words.
inline std::optional<Bytes> parse_bytes(std::string_view text) {
  Bytes value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit.starts_with("K") || unit.starts_with(" kB")) return value * KiB;
  if (unit.starts_with("M")) return value * MiB;
  if (unit.starts_with("G")) return value * GiB;
  return value;
}

/// First line as such a number.
inline std::optional<Bytes> read_bytes(const std::string& path) {
  const auto line = read_line(path);
  return line ? parse_bytes(*line) : std::nullopt;
}

/// The number behind `key` in a file of "Key: 123 kB" or "key 123" lines, in bytes where it says kB.
inline std::optional<Bytes> read_keyed(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto at = line.find(key);
    if (at == std::string::npos || (at > 0 && line[at - 1] != ' ')) continue;
    const auto after = at + key.size();
    if (after >= line.size() || (line[after] != ':' && line[after] != ' ' && line[after] != '\t')) continue;
    const auto number = line.find_first_of("0123456789", after);
    if (number == std::string::npos) continue;
    return parse_bytes(std::string_view(line).substr(number));
  }
  return std::nullopt;
}

/// "0-3,8" as 0 1 2 3 8.
inline std::vector<int> parse_list(const std::string& text) {
  std::vector<int> values;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    int first = 0;
    int last = 0;
    const char* end = part.data() + part.size();
    const auto [dash, error] = std::from_chars(part.data(), end, first);
    if (error != std::errc{}) continue;
    if (dash == end || *dash != '-' || std::from_chars(dash + 1, end, last).ec != std::errc{}) last = first;
    for (int value = first; value <= last; ++value) values.push_back(value);
  }
  return values;
}

/// The word in brackets of "always [madvise] never"; empty where the file is missing.
inline std::string read_choice(const std::string& path) {
  const std::string line = read_line(path).value_or("");
  const auto open = line.find('[');
  const auto close = line.find(']');
  if (open == std::string::npos || close == std::string::npos) return {};
  return line.substr(open + 1, close - open - 1);
}

}  // namespace linkscope::host
