// Child: a Python process that does what only Python can, over a socket of its own.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/descriptor.hpp"
#include "base/units.hpp"

namespace linkscope::python {

/// A message over the socket: a JSON object behind its length (four bytes, lowest first).
using Message = nlohmann::json;

/// Started at once; killed with this process, and when it goes. Its output goes to this process's standard error. For
/// one caller at a time: the thread that made it, by whose end the kernel knows that the child is to be killed.
class Child {
 public:
  /// `program` is told the number of its end of the socket, as its last argument. `timeout`: how long an
  /// answer may take. Throws Error{fatal} where no process can be started.
  Child(const std::string& program, Seconds timeout);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Sends a command and waits for what it gives. Throws the Error that the child answers with; Error{fatal} with its
  /// last words where it ends, falls silent or talks nonsense: nothing can be asked of it any more.
  Message ask(const Message& command);
  /// The two halves of it; tell() alone for a command that has no answer.
  void tell(const Message& command);
  [[nodiscard]] Message hear();
  /// Waits for its end, which it has been asked for; kills it where it lingers.
  void await_end();

 private:
  void start(const std::string& program, int socket, int words, int reason);
  void receive(std::string& bytes, std::size_t count, Seconds deadline);
  void take_words();
  void await_until(Seconds deadline);
  /// Says how the child ended by itself.
  [[nodiscard]] std::string ending();
  [[noreturn]] void fail(const std::string& what);

  Seconds timeout_;
  pid_t pid_ = -1;  ///< -1 once it has ended
  int exit_status_ = 0;
  Descriptor socket_;
  Descriptor words_;        ///< the reading end of its output; none once it has closed it
  std::string last_words_;  ///< the end of what it printed
};

}  // namespace linkscope::python
