// Address: where a process listens.
#pragma once

#include <cstdint>
#include <string>

namespace linkscope {

struct Address {
  std::string host;
  std::uint16_t port = 0;

  /// Reads HOST:PORT; an IPv6 address stands in brackets. `what` names the place the text comes from. Throws
  /// Error{bad_input}.
  static Address parse(const std::string& text, const std::string& what);
  [[nodiscard]] std::string text() const;
};

}  // namespace linkscope
