// Writes whole lines with write(2) and reports what it says.
#include "record/json_lines.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iomanip>
#include <sstream>
#include <string>
#include <utility>

namespace linkscope {
namespace {

[[noreturn]] void fail() {
  throw WriteError(std::string("cannot write the results: ") + std::strerror(errno));
}

}  // namespace

JsonLines JsonLines::alone_at(int output, int diagnostics) {
  Descriptor copy(::fcntl(output, F_DUPFD_CLOEXEC, 0));
  if (copy.number() < 0) fail();
  static_cast<void>(::dup2(diagnostics, output));
  JsonLines lines(copy.number());
  lines.own_ = std::move(copy);
  lines.output_ = output;
  return lines;
}

JsonLines::~JsonLines() {
  if (own_.number() >= 0) static_cast<void>(::dup2(own_.number(), output_));
}

void JsonLines::write(const Json& record) {
  const std::string line = text_of(record) + '\n';
  std::size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = ::write(descriptor_, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail();
    written += static_cast<std::size_t>(count);
  }
}

std::string text_of(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string packed(const Json& value) {
  std::string bytes;
  Json::to_cbor(value, bytes);
  return bytes;
}

Json rounded(Json record) {
  if (record.is_number_float()) {
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%.9g", record.get<double>());
    return std::strtod(text.data(), nullptr);
  }
  if (record.is_structured()) {
    for (Json& one : record) one = rounded(std::move(one));
  }
  return record;
}

std::string rfc3339(std::chrono::system_clock::time_point when) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(when);
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(when - whole).count();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(whole);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::ostringstream text;
  text << std::put_time(&parts, "%Y-%m-%dT%H:%M:%S.") << std::setw(3) << std::setfill('0') << milliseconds
       << 'Z';
  return text.str();
}

}  // namespace linkscope
