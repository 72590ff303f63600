// The engine's one exception type and what each kind of it means for a run.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

namespace linkscope {

/// What an error means to the code that catches it.
enum class Fault {
  bad_input,    ///< the plan or the command line is wrong: exit code 2
  unsupported,  ///< this machine cannot do it: the case becomes a `skipped` row
  no_memory,    ///< not enough memory: `skipped`, after the buffer pool was emptied once
  mismatch,     ///< data arrived wrong: `failed`
  broken,       ///< a vendor or system call failed: `failed`
  fatal,        ///< the process can no longer be trusted (a device fault): `failed`, the engine leaves
};

/// `text`, which may be another program's, as one line of a message.
inline std::string one_line(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

/// One line saying what is wrong.
class Error : public std::runtime_error {
 public:
  Error(Fault fault, const std::string& what) : std::runtime_error(what), fault_(fault) {}

  [[nodiscard]] Fault fault() const noexcept { return fault_; }

 private:
  Fault fault_;
};

}  // namespace linkscope
