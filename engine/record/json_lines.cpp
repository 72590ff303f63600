// Writes whole lines with write(2) and reports what it says.
#include "record/json_lines.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace linkscope {

void JsonLines::write(const Json& record) {
  const std::string line = record.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  std::size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = ::write(descriptor_, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw WriteError(std::string("cannot write the results: ") + std::strerror(errno));
    written += static_cast<std::size_t>(count);
  }
}

double rounded(double value) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.9g", value);
  return std::strtod(text.data(), nullptr);
}

}  // namespace linkscope
