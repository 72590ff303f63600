// ProcessGroupGate: starts the lanes of several processes as one case.
#pragma once

#include <vector>

#include "model/transfer.hpp"
#include "run/consensus.hpp"

namespace linkscope {

/// Every process calls it with the same lanes in the same order; each holds its own behind its gate. Once all have
/// answered that theirs are held, each opens at an agreed moment of the common clock. Spans are exchanged, so
/// that every process sees all of them, on rank 0's steady clock.
class ProcessGroupGate final : public Gate {
 public:
  /// Both outlive the gate.
  ProcessGroupGate(Gate& own, Consensus& consensus) : own_(&own), consensus_(&consensus) {}

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
  Consensus* consensus_;
  std::size_t lanes_ = 0;
  std::vector<std::size_t> places_;  ///< of this process's lanes among all
  Seconds opening_ = 0;              ///< on this process's clock
  Seconds agreed_now_ = 0;
  std::vector<Seconds> clock_errors_;
};

}  // namespace linkscope
