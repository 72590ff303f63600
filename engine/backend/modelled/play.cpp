// Event-driven: between two events every lane waits or moves at a constant rate.
#include "backend/modelled/play.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace linkscope::modelled {
namespace {

constexpr double simultaneous = 1e-12;  // relative: events closer than this are one

struct Runner {
  enum class Activity { waiting, moving, ended };

  const LaneWork* work = nullptr;
  Activity phase = Activity::waiting;
  bool endless = false;    ///< background, or a tail
  bool ended = false;      ///< its end is known; a tail may go on
  std::uint64_t left = 0;  ///< operations that have not begun
  Seconds wake = 0;        ///< waiting: when it ends
  double remaining = 0;    ///< moving: bytes
  double rate = 0;         ///< moving: bytes per second
};

class Play {
 public:
  Play(const std::vector<LaneWork>& works, const std::vector<double>& capacities)
      : capacities_(capacities), ends_(works.size(), 0.0) {
    const bool any_measured = std::any_of(works.begin(), works.end(),
                                          [](const LaneWork& work) { return work.role == Role::measured; });
    for (const LaneWork& work : works) {
      runners_.push_back({.work = &work, .endless = any_measured && work.role == Role::background});
      if (!runners_.back().endless) ++unfinished_;
    }
  }

  std::vector<Seconds> run() {
    for (Runner& runner : runners_) begin(runner);
    while (unfinished_ > 0) {
      if (shares_changed_) share();
      const Seconds next = next_event();
      advance(next);
    }
    for (std::size_t i = 0; i < runners_.size(); ++i) {
      if (runners_[i].endless && !runners_[i].ended) ends_[i] = now_;
    }
    return std::move(ends_);
  }

 private:
  /// Joins phases that nothing separates, so that the number of events does not grow with the repeats.
  void begin(Runner& runner) {
    const LaneWork& work = *runner.work;
    const double repeats = runner.endless ? unlimited : static_cast<double>(work.repeats);
    if (work.bytes == 0) {
      runner.left = 0;
      wait(runner, work.latency > 0 ? repeats * work.latency : 0);
    } else if (work.latency == 0) {
      runner.left = 0;
      move(runner, repeats * static_cast<double>(work.bytes));
    } else {
      runner.left = work.repeats - 1;
      wait(runner, work.latency);
    }
  }

  void wait(Runner& runner, Seconds length) {
    runner.phase = Runner::Activity::waiting;
    runner.wake = now_ + length;
  }

  void move(Runner& runner, double bytes) {
    runner.phase = Runner::Activity::moving;
    runner.remaining = bytes;
    shares_changed_ = true;
  }

  [[nodiscard]] Seconds due(const Runner& runner) const {
    if (runner.phase == Runner::Activity::ended) return unlimited;
    if (runner.phase == Runner::Activity::waiting) return runner.wake;
    if (std::isinf(runner.remaining)) return unlimited;
    return now_ + runner.remaining / runner.rate;
  }

  [[nodiscard]] Seconds next_event() const {
    Seconds next = unlimited;
    for (const Runner& runner : runners_) next = std::min(next, due(runner));
    return next;
  }

  void advance(Seconds next) {
    const Seconds step = next - now_;
    std::vector<Runner*> arrived;
    for (Runner& runner : runners_) {
      if (due(runner) <= next + simultaneous * next) {
        arrived.push_back(&runner);
      } else if (runner.phase == Runner::Activity::moving) {
        runner.remaining -= runner.rate * step;
      }
    }
    now_ = next;
    for (Runner* runner : arrived) proceed(*runner);
  }

  /// To the next phase of a runner whose phase is over.
  void proceed(Runner& runner) {
    const LaneWork& work = *runner.work;
    if (runner.phase == Runner::Activity::waiting && work.bytes > 0) {
      move(runner, static_cast<double>(work.bytes));
      return;
    }
    if (runner.phase == Runner::Activity::moving) shares_changed_ = true;
    if (runner.endless && work.bytes > 0) {
      wait(runner, work.latency);
    } else if (runner.left > 0) {
      --runner.left;
      wait(runner, work.latency);
    } else {
      end(runner);
    }
  }

  void end(Runner& runner) {
    runner.phase = Runner::Activity::ended;
    if (runner.endless) return;
    ends_[static_cast<std::size_t>(&runner - runners_.data())] = now_;
    runner.ended = true;
    --unfinished_;
    if (runner.work->tail == 0) return;
    runner.endless = true;
    begin(runner);
  }

  void share() {
    std::vector<Runner*> moving;
    std::vector<const BandwidthDemand*> demands;
    for (Runner& runner : runners_) {
      if (runner.phase != Runner::Activity::moving) continue;
      moving.push_back(&runner);
      demands.push_back(&runner.work->demand);
    }
    const std::vector<double> rates = fair_rates(demands, capacities_);
    for (std::size_t i = 0; i < moving.size(); ++i) moving[i]->rate = rates[i];
    shares_changed_ = false;
  }

  const std::vector<double>& capacities_;
  std::vector<Runner> runners_;
  std::vector<Seconds> ends_;
  std::size_t unfinished_ = 0;
  Seconds now_ = 0;
  bool shares_changed_ = false;
};

}  // namespace

std::vector<Seconds> play(const std::vector<LaneWork>& works, const std::vector<double>& capacities) {
  return Play(works, capacities).run();
}

}  // namespace linkscope::modelled
