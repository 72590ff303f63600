// Measures one case: tunes, warms up, samples, verifies.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "measure/batch.hpp"
#include "measure/measured_flow.hpp"
#include "measure/statistics.hpp"
#include "measure/tuner.hpp"
#include "model/flow.hpp"
#include "model/transfer.hpp"

namespace linkscope {

/// The state that the cases of a run share.
struct MeasurementSession {
  SamplingOptions options;
  std::function<Seconds()>
      now;  ///< wall clock that budgets are counted by; the same in every process of a run
  /// Of the next pass of a flow. None repeats in a process, so that no pass and no flow can pass on another's data.
  std::uint64_t next_seed = 1;
  TuningCache tuned;
  /// Carries out a step that every process of a run takes; where one fails, all throw what that one threw.
  std::function<void(const std::function<void()>&)> collective_try = [](const std::function<void()>& step) {
    step();
  };
  Poll poll = own_word;  ///< among all processes of a run
};

/// One flow's figures.
struct FlowResult {
  std::uint64_t repeats = 0;     ///< transfers in one sample
  std::uint64_t operations = 1;  ///< dependent operations in one transfer
  Stats seconds;                 ///< of one operation
  std::optional<Stats> gbps;     ///< nothing where the method measures latency
  Bytes touched_bytes = 0;       ///< read plus written by one transfer; 0: the method does not say
  Setting setting;
  std::vector<TriedSetting> tried;
  std::vector<std::string> notes;
  std::vector<Seconds> samples_s;    ///< time of one operation, in order
  std::vector<Seconds> parts_s;      ///< median time of one operation by timed part, where there are several
  std::vector<Breakdown> breakdown;  ///< by part, of transfers that tell
};

/// All measured flows together.
struct AggregateResult {
  Stats gbps;
  double overlap = 0;                ///< median over the samples
  Seconds timeline_uncertainty = 0;  ///< of start and end, where devices have clocks of their own
};

struct CaseResult {
  std::vector<FlowResult> flows;
  std::optional<AggregateResult> aggregate;  ///< where every measured flow is a bandwidth
  Stop stopped = Stop::precision;
  std::size_t load_ended = 0;    ///< starts that do not count: their load ended before the measured flows
  std::size_t kept_waiting = 0;  ///< starts that do not count: threads waited for CPUs given to others
  Interference
      interference;    ///< of the samples: the longest wait, all switches, the median distance of starts
  Seconds stolen = 0;  ///< of one CPU, by a hypervisor while samples were taken
  int passes = 0;      ///< verified
  Bytes verified_bytes = 0;
};

/// Pass 1: arm, tune, warm up, verify. Pass 2: arm with other seeds, sample, verify.
/// Throws Error{mismatch} when data arrived wrong, Error{broken} when a background flow cannot be kept
/// running, and whatever the gate throws.
CaseResult measure_case(MeasurementSession& session, Gate& gate, const std::vector<MeasuredFlow>& flows,
                        const Regime& regime);

}  // namespace linkscope
