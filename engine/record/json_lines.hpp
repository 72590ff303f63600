// Records: one line of JSON each, out at once, with nothing of others between them.
#pragma once

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include "base/descriptor.hpp"

namespace linkscope {

/// Key order is kept, so that a case is echoed as it was written.
using Json = nlohmann::ordered_json;

/// The reader of the records is gone or its disk is full: nothing measured from here on could be kept.
class WriteError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Writes to a file descriptor.
class JsonLines {
 public:
  /// To one that another owns.
  explicit JsonLines(int descriptor) : descriptor_(descriptor) {}
  /// To where `output` leads; what anyone else writes to `output` goes to `diagnostics` meanwhile. NCCL and MPI print to
  /// standard output where their users ask for it, and a line of theirs would be a broken record. Throws WriteError with
  /// the system's reason where `output` is closed.
  static JsonLines alone_at(int output, int diagnostics);
  /// `output` leads where it did: its reader sees no end of file before this process has ended.
  ~JsonLines();
  JsonLines(JsonLines&&) = default;
  JsonLines& operator=(JsonLines&&) = delete;

  /// Writes `record` and a newline, without buffering: when it returns, the line has left the process.
  /// Throws WriteError with the system's reason. SIGPIPE must be ignored.
  void write(const Json& record);

 private:
  int descriptor_;
  Descriptor own_;
  int output_ = -1;
};

/// Define to_json(), and from_json() as well, of a struct with these members. The library's own macros do so for ordered
/// JSON from 3.11.3 on alone.
#define LINKSCOPE_TO_JSON(Type, ...)                                         \
  inline void to_json(Json& nlohmann_json_j, const Type& nlohmann_json_t) {  \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_TO, __VA_ARGS__)) \
  }
#define LINKSCOPE_JSON(Type, ...)                                              \
  LINKSCOPE_TO_JSON(Type, __VA_ARGS__)                                         \
  inline void from_json(const Json& nlohmann_json_j, Type& nlohmann_json_t) {  \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_FROM, __VA_ARGS__)) \
  }

/// Returns JSON text on one line; what is no UTF-8 in it is replaced.
std::string text_of(const Json& value);
/// Returns the value of a JSON text; none where it is something else. Strangers may send any text: its reader, unlike that
/// of CBOR, takes any depth of nesting.
template <class Value>
std::optional<Value> parsed(const std::string& text) {
  try {
    return Json::parse(text).get<Value>();
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

/// Returns CBOR, in which texts hold any bytes.
std::string packed(const Json& value);
/// Returns the value that `bytes` were packed from; none where they are something else.
template <class Value = Json>
std::optional<Value> unpacked(const std::string& bytes) {
  try {
    return Json::from_cbor(bytes).get<Value>();
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

/// Rounds the fractions in a record to nine significant digits: more than any clock here resolves, half the text of a full
/// double.
Json rounded(Json record);

/// RFC 3339 in UTC with milliseconds: "2026-01-31T08:15:00.250Z".
std::string rfc3339(std::chrono::system_clock::time_point when);

}  // namespace linkscope
