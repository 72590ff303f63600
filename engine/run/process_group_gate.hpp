// ProcessGroupGate: starts the lanes of several processes as one case. RemoteTransfer: stands for a part elsewhere.
#pragma once

#include <string>
#include <vector>

#include "comm/process_group.hpp"
#include "model/transfer.hpp"
#include "record/json_lines.hpp"

namespace linkscope {

LINKSCOPE_JSON(TransferFacts, operations, max_repeats, max_calls_in_batch, calls_in_a_row, min_sample_s,
               accumulates, checks_starts, collective, touched_bytes, call_group, candidates, setting,
               arrives_late)

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

/// Every process calls it with the same lanes in the same order; each holds its own behind its gate. Once all have
/// answered that theirs are held, each opens at an agreed moment of the common clock. Spans are exchanged, so
/// that every process sees all of them, on rank 0's steady clock.
class ProcessGroupGate final : public Gate {
 public:
  /// Both outlive the gate.
  ProcessGroupGate(Gate& own, ProcessGroup& group) : own_(&own), group_(&group) {}

  [[nodiscard]] Support accepts(const Transfer& transfer) const override;
  void hold(const std::vector<Lane>& lanes, Clock clock) override;
  void open() override;
  std::vector<Span> collect() override;
  [[nodiscard]] Seconds resolution(Clock clock) const override { return own_->resolution(clock); }
  /// Those of all processes against rank 0's clock, as of the last collect().
  [[nodiscard]] std::vector<Seconds> clock_errors() const override { return clock_errors_; }
  /// Of this process's CPUs.
  [[nodiscard]] Seconds stolen() const override { return own_->stolen(); }

  /// Rank 0's clock when the last spans were exchanged: the time by which all processes decide alike.
  [[nodiscard]] Seconds agreed_now() const { return agreed_now_; }

 private:
  [[nodiscard]] std::vector<Seconds> own_errors() const;

  Gate* own_;
  ProcessGroup* group_;
  std::size_t lanes_ = 0;
  std::vector<std::size_t> places_;  ///< of this process's lanes among all
  Seconds opening_ = 0;              ///< on this process's clock
  Seconds agreed_now_ = 0;
  std::vector<Seconds> clock_errors_;
};

}  // namespace linkscope
