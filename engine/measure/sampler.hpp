// Sampler: runs the flows of a case together, once per sample, and turns spans into figures.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "measure/batch.hpp"
#include "measure/measured_flow.hpp"
#include "model/flow.hpp"
#include "model/transfer.hpp"

namespace linkscope {

/// One start of all flows: a span per flow and how often it had repeated.
class Sample {
 public:
  /// `spans`: one for each part of each flow, in order.
  Sample(const std::vector<MeasuredFlow>& flows, const std::vector<Span>& spans, Repeats repeats,
         const Regime& regime);

  /// Time of one transfer of flow i, as long as it ran together with the others.
  [[nodiscard]] Seconds per_transfer(std::size_t i) const;
  /// Time of one operation of flow i.
  [[nodiscard]] Seconds per_operation(std::size_t i) const;
  /// Returns the same for each of the flow's timed parts, in order.
  [[nodiscard]] std::vector<Seconds> per_operation_by_part(std::size_t i) const;
  /// Payload rate of flow i on its own span, decimal GB/s.
  [[nodiscard]] double rate(std::size_t i) const;
  /// First start of a measured flow to the last end of one.
  [[nodiscard]] Seconds length() const;
  /// All measured flows' payload over length(), decimal GB/s.
  [[nodiscard]] double aggregate_rate() const;
  /// Share of length() in which every measured flow was running.
  [[nodiscard]] double overlap() const;
  /// Background flows (Load::sustained: measured ones too) whose load ended before the last measured stamp; of flows
  /// that do uncounted work besides (Transfer::counted), before the end of all of it.
  [[nodiscard]] std::vector<std::size_t> ended_early() const;

  /// The worst of what the machine took from any timed part of a measured flow; switches are those of all.
  [[nodiscard]] Interference interference() const;
  /// Tells whether threads of a measured flow were ready but without a CPU for more than 1 % of its time, and 10 us.
  [[nodiscard]] bool kept_waiting() const;

  [[nodiscard]] const Repeats& repeats() const { return repeats_; }
  /// `before`: an earlier sample of the same flows, or null (per_transfer_of).
  [[nodiscard]] std::vector<RateEstimate> rate_estimates(const Sample* before = nullptr) const;

 private:
  [[nodiscard]] Bytes payload(std::size_t i) const;
  /// Returns what flow i's repeats took, for planning: without the time until its last thread began, where that is most
  /// of it.
  [[nodiscard]] TimedRepeats timed(std::size_t i) const;
  /// Calls `what` with the span of every timed part of a measured flow.
  template <class What>
  void each_measured(const What& what) const;

  /// A flow's span out of its parts': first start to last end of those that are timed, and what counts of their
  /// lengths (PartsTime).
  struct FlowSpan {
    Span span;
    Seconds length = 0;
    Seconds apart = 0;  ///< of the threads' starts, where a part has several
  };
  [[nodiscard]] static FlowSpan joined(const MeasuredFlow& flow, const std::vector<Span>& spans);

  const std::vector<MeasuredFlow>* flows_;
  std::vector<FlowSpan> spans_;
  std::vector<std::vector<Span>> parts_;  ///< by flow
  Repeats repeats_;
  Regime regime_;
  Seconds first_start_ = 0;
  Seconds last_start_ = 0;
  Seconds first_end_ = 0;
  Seconds last_end_ = 0;
  Seconds last_busy_ =
      0;  ///< the end of what a measured flow did, what does not count of it included; of one that
          ///< arrives late, its start
};

/// Takes samples through a gate. Holds references: flows and gate outlive it.
class Sampler {
 public:
  Sampler(Gate& gate, const std::vector<MeasuredFlow>& flows, const Regime& regime);

  /// One start of all flows. Cache::flushed: every flow's memory is flushed first and `repeats` must be ones.
  [[nodiscard]] Sample take(const Repeats& repeats);
  /// Repeats for samples of at least `target` seconds, from the rates that `last` showed, and `before` where it is not
  /// null (per_transfer_of). Ones for Cache::flushed, where only a first transfer finds the caches empty (background
  /// flows still outlast the measured ones).
  [[nodiscard]] Repeats repeats_for(const Sample& last, Seconds target, const Sample* before = nullptr) const;
  [[nodiscard]] Repeats ones() const { return Repeats(flows_->size(), 1); }
  /// The figures that decide when to stop: the aggregate rate where several flows are measured together, all of them
  /// bandwidths and without Load::sustained; else every measured flow's time of one operation.
  [[nodiscard]] std::vector<double> stopping_metrics(const Sample& sample) const;
  /// Makes the untimed tails of Load::sustained longer, after a sample in which one was too short.
  void lengthen_tails() { ++tail_eighths_; }
  /// Shortest sample this clock resolves.
  [[nodiscard]] Seconds resolution() const { return gate_->resolution(regime_.clock); }

 private:
  /// Untimed repeats behind the timed ones: as far as the transfer's queue holds them.
  [[nodiscard]] std::uint64_t tail_for(const MeasuredFlow& flow, std::uint64_t repeats) const;

  Gate* gate_;
  const std::vector<MeasuredFlow>* flows_;
  Regime regime_;
  std::uint64_t tail_eighths_ = 1;  ///< of the repeats
};

/// Tells whether every measured flow is a bandwidth, so that an aggregate rate means something.
bool all_bandwidth(const std::vector<MeasuredFlow>& flows);

}  // namespace linkscope
