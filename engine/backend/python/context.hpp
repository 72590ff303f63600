// PythonContext: this process's Python child, started when it is first wanted, and what it says of Python here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "backend/python/child.hpp"
#include "base/error.hpp"

namespace linkscope::python {

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
  /// Tells whether Python has `what` here: "torch", "distributed" or "mpi". Loads none of it.
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
