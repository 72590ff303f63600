// JSON Lines writer: one record, one line, out at once.
#pragma once

#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

namespace linkscope {

/// Key order is kept, so that a case is echoed as it was written.
using Json = nlohmann::ordered_json;

/// The reader of the records is gone or its disk is full: nothing measured from here on could be kept.
class WriteError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Writes to a file descriptor that it does not own.
class JsonLines {
 public:
  explicit JsonLines(int descriptor) : descriptor_(descriptor) {}

  /// Writes `record` and a newline, without buffering: when it returns, the line has left the process.
  /// Throws WriteError with the system's reason. SIGPIPE must be ignored.
  void write(const Json& record);

 private:
  int descriptor_;
};

/// Nine significant digits: more than any clock here resolves, half the text of a full double.
double rounded(double value);

}  // namespace linkscope
