// RemoteTransfer: stands for a part that another process carries out.
#pragma once

#include <string>
#include <vector>

#include "model/transfer.hpp"
#include "record/json_lines.hpp"

namespace linkscope {

LINKSCOPE_JSON(TransferFacts, operations, max_repeats, max_calls_in_batch, calls_in_a_row, min_sample_s,
               accumulates, checks_starts, collective, touched_bytes, call_group, candidates, setting)

/// What the measurement asks of a transfer, as the process that has it says; arming and checking are that process's.
class RemoteTransfer final : public Transfer {
 public:
  /// `stated`: what that process's statement_of() the transfer gave.
  explicit RemoteTransfer(const Json& stated) : notes_(stated.at("notes").get<std::vector<std::string>>()) {
    own_facts() = stated.at("facts").get<TransferFacts>();
  }

  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }

 private:
  std::vector<std::string> notes_;
};

/// The facts of `transfer` and its remarks so far: what a RemoteTransfer must know of it.
inline Json statement_of(const Transfer& transfer) {
  return {{"facts", transfer.facts()}, {"notes", transfer.notes()}};
}

}  // namespace linkscope
