// RecordStream: standard output for records alone, whatever the libraries of this process print.
#pragma once

#include "record/json_lines.hpp"

namespace linkscope {

/// While it lives, what anyone else writes to `output` goes to `diagnostics`, and its own lines to where `output` led.
/// NCCL and MPI print to standard output where their users ask for it, and a line of theirs would be a broken record.
class RecordStream {
 public:
  /// Throws WriteError with the system's reason where `output` is closed.
  RecordStream(int output, int diagnostics);
  ~RecordStream();
  RecordStream(const RecordStream&) = delete;
  RecordStream& operator=(const RecordStream&) = delete;

  [[nodiscard]] JsonLines& lines() { return lines_; }

 private:
  int output_;
  int records_;  ///< where `output` led
  JsonLines lines_;
};

}  // namespace linkscope
