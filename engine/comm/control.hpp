// Control: the connection to the supervisor, which started this process.
#pragma once

#include <string>

#include "comm/socket.hpp"

namespace linkscope {

/// Lines of text. The descriptor blocks, and may be handed to another writer of lines.
class Control {
 public:
  /// Throws Error{bad_input} where nobody answers within a few seconds.
  explicit Control(const Address& supervisor);

  [[nodiscard]] int descriptor() const { return socket_.descriptor(); }
  /// The address of this host by which the supervisor knows it, in numbers.
  [[nodiscard]] std::string local_host() const { return socket_.local_host(); }
  /// The next line, however long that takes. Throws Error{bad_input} where the supervisor closes the connection
  /// instead.
  [[nodiscard]] std::string hear();

 private:
  Address supervisor_;
  Socket socket_;
  std::string pending_;
};

}  // namespace linkscope
