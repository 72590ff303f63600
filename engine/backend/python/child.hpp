// Child: a Python process that does what only Python can, over a socket of its own. PythonContext: this process's child,
// started when it is first wanted, and what it says of Python here.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/descriptor.hpp"
#include "base/error.hpp"
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

/// This process among those of its run, as its child must know it.
struct GroupPlace {
  int rank = 0;
  int size = 1;
  std::string root_host = "127.0.0.1";  ///< address of rank 0, by which the others reach it
  std::optional<Seconds> limit =
      std::nullopt;        ///< how long one process may keep the others waiting, where there are others
  Bytes memory_limit = 0;  ///< most host memory of one allocation; 0: what is available
};

class PythonContext {
 public:
  /// `program`: the Python to start; empty: there is none.
  PythonContext(std::string program, GroupPlace place)
      : program_(std::move(program)), place_(std::move(place)) {}

  /// The child, which is started here. Throws what Child throws; Error{unsupported} where there is no Python.
  [[nodiscard]] Child& child();
  /// Tells whether Python has `what` here: "torch", "distributed", "mpi" or a package. Loads none of it.
  [[nodiscard]] Support has(const std::string& what);
  /// Versions of Python and its packages; empty where there is no Python.
  [[nodiscard]] std::map<std::string, std::string> versions();
  /// A number for the next transfer, by which the child knows it.
  [[nodiscard]] std::uint64_t next_transfer() { return ++transfers_; }
  /// Ends the child in good order, in all processes together; nothing where there is none.
  void finish();

 private:
  [[nodiscard]] const Message& installed();

  std::string program_;
  GroupPlace place_;
  std::unique_ptr<Child> child_;
  Message installed_;
  std::uint64_t transfers_ = 0;
};

}  // namespace linkscope::python
