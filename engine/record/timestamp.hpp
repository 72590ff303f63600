// Timestamps as records carry them.
#pragma once

#include <chrono>
#include <string>

namespace linkscope {

/// RFC 3339 in UTC with milliseconds: "2026-01-31T08:15:00.250Z".
std::string rfc3339(std::chrono::system_clock::time_point when);

}  // namespace linkscope
