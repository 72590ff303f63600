// BoardMemory: host memory that the ranks of a schedule share, in one process or in several of a host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/units.hpp"

namespace linkscope::workload {

/// Zero at first. Of several processes one makes it and tells the others how to find it: it has no name that could stay
/// behind, but is reached through its maker's descriptor while that lives.
class BoardMemory {
 public:
  /// New, of `bytes`. Throws Error{broken} with the system's words.
  explicit BoardMemory(Bytes bytes);
  /// Another process's, by its told(). Throws Error{unsupported} where this process cannot reach it.
  BoardMemory(const std::string& told, Bytes bytes);
  ~BoardMemory();
  BoardMemory(const BoardMemory&) = delete;
  BoardMemory& operator=(const BoardMemory&) = delete;

  /// Where the ranks' words begin.
  [[nodiscard]] std::byte* data() const;
  /// What another process opens it by. Only of one that was made here.
  [[nodiscard]] std::string told() const;

 private:
  void map(Bytes bytes);

  int descriptor_ = -1;
  std::byte* base_ = nullptr;
  Bytes bytes_ = 0;
};

}  // namespace linkscope::workload
