// Writes RFC 3339 timestamps.
#include "record/timestamp.hpp"

#include <array>
#include <cstdio>
#include <ctime>

namespace linkscope {

std::string rfc3339(std::chrono::system_clock::time_point when) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(when);
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(when - whole).count();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(whole);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> date{};
  std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%s.%03dZ", date.data(), static_cast<int>(milliseconds));
  return text.data();
}

}  // namespace linkscope
