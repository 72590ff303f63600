// The engine's one exception type and what each kind of it means for a run; Support: yes, or the reason why not.
#pragma once

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

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

/// Yes, or one line saying why not (a vendor's own words where there are any).
class Support {
 public:
  static Support yes() { return Support{{}}; }
  static Support no(std::string reason) { return Support{std::move(reason)}; }
  explicit operator bool() const { return !reason_.has_value(); }
  /// Only where the answer is no.
  [[nodiscard]] const std::string& reason() const { return *reason_; }

 private:
  explicit Support(std::optional<std::string> reason) : reason_(std::move(reason)) {}
  std::optional<std::string> reason_;
};

}  // namespace linkscope
