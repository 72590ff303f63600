// Reads and writes HOST:PORT.
#include "comm/address.hpp"

#include <charconv>
#include <string_view>

#include "base/error.hpp"

namespace linkscope {

Address Address::parse(const std::string& text, const std::string& what) {
  const auto colon = text.rfind(':');
  const std::string_view all = text;
  std::string_view host = colon == std::string::npos ? std::string_view{} : all.substr(0, colon);
  const std::string_view digits = colon == std::string::npos ? std::string_view{} : all.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  Address address{std::string(host), 0};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), address.port);
  const bool numeric = error == std::errc{} && end == digits.data() + digits.size() && address.port > 0;
  if (host.empty() || !numeric) {
    throw Error(Fault::bad_input, what + ": '" + text + "' is no HOST:PORT with a port from 1 to 65535");
  }
  return address;
}

std::string Address::text() const {
  const bool numbers = host.find(':') != std::string::npos;
  return (numbers ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace linkscope
