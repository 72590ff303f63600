#include "backend/modelled/schedule_play.hpp"

#include <algorithm>
#include <cstddef>

namespace linkscope::modelled {
namespace {

using Moments = std::vector<Seconds>;  // by rank, from the phase's begin

/// One time that one phase takes place.
class PhasePlay {
 public:
  PhasePlay(const ScheduleCosts& costs, const Phase& phase, int ranks, const std::vector<double>& capacities)
      : costs_(&costs), phase_(&phase), ranks_(static_cast<std::size_t>(ranks)), capacities_(&capacities) {}

  /// Adds what it took, `times` times, to each rank's parts. Returns how long it took once.
  Seconds run(double times, std::vector<Breakdown>& ranks) const {
    if (phase_->messages.empty()) return 0;
    const Moments begun(ranks_, 0);
    const Moments packed = costs_->packs() ? after_own(begun, MessageEnd::source, Work::packing) : begun;
    const Moments ready = costs_->stages() ? after_own(packed, MessageEnd::source, Work::staging) : packed;
    Moments sent = ready;
    Moments arrived = ready;
    deliver(ready, sent, arrived);
    const Moments back =
        costs_->stages() ? after_own(arrived, MessageEnd::destination, Work::staging) : arrived;
    const Moments unpacked =
        costs_->unpacks() ? after_own(back, MessageEnd::destination, Work::packing) : back;
    const Seconds end = *std::max_element(unpacked.begin(), unpacked.end());
    for (std::size_t i = 0; i < ranks_; ++i) {
      const auto add = [&](const char* part, Seconds seconds) { ranks[i].parts[part] += times * seconds; };
      if (costs_->packs()) add("pack", packed[i]);
      if (costs_->stages()) add("copy", ready[i] - packed[i] + back[i] - arrived[i]);
      if (costs_->stores()) add(costs_->unpacks() ? "pack" : "send", sent[i] - ready[i]);
      add("wait", arrived[i] - (costs_->stores() ? sent[i] : ready[i]) + end - unpacked[i]);
      if (costs_->unpacks()) add("unpack", unpacked[i] - back[i]);
    }
    return end;
  }

 private:
  enum class Work { packing, staging };

  /// When each rank has done what it does by itself, from `begin` on.
  [[nodiscard]] Moments after_own(const Moments& begin, MessageEnd end, Work work) const {
    std::vector<LaneWork> lanes;
    for (std::size_t i = 0; i < ranks_; ++i) {
      const int rank = static_cast<int>(i);
      lanes.push_back(work == Work::packing ? costs_->packing(*phase_, rank, end)
                                            : costs_->staging(*phase_, rank, end));
      lanes.back().latency += begin[i];
    }
    return play(lanes, *capacities_);
  }

  /// `sent`: when the last message of a rank is at its destination; `arrived`: that and all that it expects.
  void deliver(const Moments& ready, Moments& sent, Moments& arrived) const {
    std::vector<LaneWork> lanes;
    for (const ScheduledMessage& message : phase_->messages) {
      lanes.push_back(costs_->message(*phase_, message));
      lanes.back().latency += ready[static_cast<std::size_t>(message.source)];
    }
    const std::vector<Seconds> ends = play(lanes, *capacities_);
    for (std::size_t m = 0; m < ends.size(); ++m) {
      const auto source = static_cast<std::size_t>(phase_->messages[m].source);
      const auto destination = static_cast<std::size_t>(phase_->messages[m].destination);
      sent[source] = std::max(sent[source], ends[m]);
      arrived[source] = std::max(arrived[source], ends[m]);
      arrived[destination] = std::max(arrived[destination], ends[m]);
    }
  }

  const ScheduleCosts* costs_;
  const Phase* phase_;
  std::size_t ranks_;
  const std::vector<double>* capacities_;
};

/// Whether no phase after it in its loop ends a round.
bool ends_last_round(const Loop& loop, std::size_t phase) {
  return std::all_of(loop.phases.begin() + static_cast<std::ptrdiff_t>(phase) + 1, loop.phases.end(),
                     [](const Phase& later) { return later.termination == Termination::none; });
}

/// A round's test is an all-reduce; what has not blocked is confirmed by one that does, where the rounds end.
Seconds collectives_of(const ScheduleCosts& costs, const Loop& loop, std::size_t index) {
  const Phase& phase = loop.phases[index];
  const SmallCollective test{NumberType::int64, ReduceOp::sum, 2};
  Seconds sum = 0;
  if (phase.termination != Termination::none) sum += costs.collective(test);
  if (phase.termination == Termination::non_blocking && ends_last_round(loop, index))
    sum += costs.collective(test);
  for (const SmallCollective& what : phase.collectives) sum += costs.collective(what);
  return sum;
}

}  // namespace

std::vector<Breakdown> play_schedule(const ScheduleCosts& costs, const Schedule& schedule,
                                     const std::vector<double>& capacities) {
  std::vector<Breakdown> ranks(static_cast<std::size_t>(schedule.ranks));
  for (const Loop& loop : schedule.loops) {
    for (std::size_t p = 0; p < loop.phases.size(); ++p) {
      const auto times = static_cast<double>(Schedule::times(loop, loop.phases[p]));
      const Seconds once = PhasePlay(costs, loop.phases[p], schedule.ranks, capacities).run(times, ranks);
      const Seconds collectives = collectives_of(costs, loop, p);
      for (Breakdown& rank : ranks) {
        if (collectives > 0) rank.parts["collectives"] += times * collectives;
        rank.phases.push_back(times * (once + collectives));
      }
    }
  }
  return ranks;
}

}  // namespace linkscope::modelled
