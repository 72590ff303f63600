// The two passes of a case and the figures they give.
#include "measure/case_measurement.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "measure/sampler.hpp"

namespace linkscope {
namespace {

constexpr int most_warm_ups = 12;
constexpr double warm_up_share = 0.25;  // of the point's budget
constexpr double stable = 0.02;         // two warm-ups that differ by less are alike
constexpr double long_enough = 0.9;     // share of the wanted length that a sample may fall short by noise
constexpr double far_too_long = 4;
constexpr double background_slack = 0.8;    // background flows repeat 30 % more often than they must
constexpr std::size_t most_discarded = 10;  // more than there are samples that count
constexpr int most_plans = 4;               // made while sampling
constexpr int single_transfers = 3;         // that are checked one by one
constexpr int single_starts = 4;       // of one transfer each, by which repeats that do nothing are found
constexpr double shortest_series = 8;  // samples for which the budget must be enough

/// What has run since the pass began: repeated transfers, which are checked but for those that accumulate, or one,
/// which is checked of those that accumulate or are collective (TransferFacts).
enum class Checked { repeated, single };

/// One pass: constructing it arms every flow with a seed of its own; finish() checks them.
class VerifiedPass {
 public:
  VerifiedPass(const std::vector<MeasuredFlow>& flows, std::uint64_t& next_seed) : flows_(&flows) {
    // All are drawn before anything can fail: the processes of a run must stay in step.
    for (std::size_t i = 0; i < flows.size(); ++i) seeds_.push_back(next_seed++);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      flows[i].each_part([&](Transfer& part) { part.arm(seeds_[i]); });
    }
  }

  /// Bytes compared. Throws Error{mismatch} naming the flow and what was wrong first.
  [[nodiscard]] Bytes finish(Checked which) const {
    Bytes compared = 0;
    for (std::size_t i = 0; i < flows_->size(); ++i) {
      (*flows_)[i].each_part([&](const Transfer& part) {
        const TransferFacts& facts = part.facts();
        const bool checked =
            which == Checked::repeated ? !facts.accumulates : facts.accumulates || facts.collective;
        if (!checked) return;
        if (const auto mismatch = part.verify(seeds_[i]))
          throw Error(Fault::mismatch, place_of(*flows_, i) + mismatch->what + " [wrong-data]");
        compared += part.verified_bytes();
      });
    }
    return compared;
  }

 private:
  const std::vector<MeasuredFlow>* flows_;
  std::vector<std::uint64_t> seeds_;
};

/// Samples of one case and why they ended.
struct Series {
  std::vector<Sample> samples;
  std::vector<StoppingRule> rules;  ///< by stopping metric
  Stop stopped = Stop::precision;
  std::vector<Sample> kept_waiting;  ///< do not count: their threads waited for CPUs
  bool all_count = false;            ///< those too, because there are hardly others
  std::size_t load_ended = 0;        ///< starts that do not count: their load ended before what was measured
};

/// How well the repeats have fitted since they were planned.
struct Planning {
  int plans = 0;  ///< made while sampling
  int samples = 0;
  int too_short = 0;
  bool was_long = false;
};

class CaseMeasurement {
 public:
  CaseMeasurement(MeasurementSession& session, Gate& gate, const std::vector<MeasuredFlow>& flows,
                  const Regime& regime)
      : session_(session),
        flows_(flows),
        gate_(gate),
        regime_(regime),
        sampler_(gate, flows, regime),
        options_(session.options),
        target_(std::max({session.options.min_sample_s, regime.min_sample_s, sampler_.resolution()})) {
    options_.point_budget_s = std::min(options_.point_budget_s, regime.point_budget_s);
    for (const MeasuredFlow& flow : flows) {
      if (!flow.measured()) continue;
      target_ = std::max(target_, flow.facts().min_sample_s);
      if (flow.facts().arrives_late)
        options_.fewest_for_precision = options_.fewest_in_budget = fewest_for_tail;
    }
  }

  CaseResult run() {
    CaseResult result;
    VerifiedPass first = armed();
    Sampler brief(gate_, flows_, {.clock = regime_.clock, .cache = regime_.cache});
    const std::vector<Tuned> tuned = tune(brief, flows_, brief.resolution(), session_.tuned, session_.poll);
    // What a discarded shape left half done may be what others work on in place.
    if (std::any_of(tuned.begin(), tuned.end(), [](const Tuned& one) { return !one.discarded.empty(); }))
      first = armed();
    const Repeats repeats = warm_up();
    result.verified_bytes = compared(first, Checked::repeated) + one_by_one();

    const VerifiedPass second = armed();
    // Arming left the caches in a state of its own: the first warm sample would not be warm.
    if (regime_.cache == Cache::warm) static_cast<void>(sampler_.take(repeats));
    const Seconds stolen = gate_.stolen();
    const Series series = sample(repeats);
    result.interference = interference_of(series);
    result.stolen = gate_.stolen() - stolen;
    result.load_ended = series.load_ended;
    result.kept_waiting = series.kept_waiting.size();
    start_singly(series.samples.back().repeats());
    result.verified_bytes += compared(second, Checked::repeated);

    result.passes = 2;
    result.stopped = series.stopped;
    for (std::size_t i = 0; i < flows_.size(); ++i) result.flows.push_back(flow_result(i, series, tuned[i]));
    if (all_bandwidth(flows_)) result.aggregate = aggregate_result(series);
    return result;
  }

 private:
  VerifiedPass armed() {
    std::optional<VerifiedPass> pass;
    session_.collective_try([&] { pass.emplace(flows_, session_.next_seed); });
    return *std::move(pass);
  }

  /// Repeated transfers have the same inputs: each could pass on what an earlier one left. Here inputs are new and
  /// outputs poisoned before each, outside the samples. nccl-tests checks one such call after its timing.
  Bytes one_by_one() {
    const bool wanted = std::any_of(flows_.begin(), flows_.end(), [](const MeasuredFlow& flow) {
      return flow.facts().accumulates || flow.facts().collective;
    });
    Bytes bytes = 0;
    Sampler once(gate_, flows_, {.clock = regime_.clock, .cache = regime_.cache});
    for (int made = 0; wanted && made < single_transfers; ++made) {
      const VerifiedPass pass = armed();
      static_cast<void>(once.take(once.ones()));
      bytes += compared(pass, Checked::single);
    }
    return bytes;
  }

  /// Compares in all processes, and counts the bytes of all.
  Bytes compared(const VerifiedPass& pass, Checked which) {
    Bytes bytes = 0;
    for (const std::string& word : session_.poll([&] { return std::to_string(pass.finish(which)); }))
      bytes += std::stoull(word);
    return bytes;
  }

  /// Returns how long a sample shall be, by the rate that one showed.
  [[nodiscard]] Seconds target_after(const Sample& sample) const {
    Seconds target = target_;
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      if (!flows_[i].measured()) continue;
      const Seconds row = static_cast<double>(flows_[i].facts().calls_in_a_row) * sample.per_transfer(i);
      target = std::max(target, std::min(row, options_.point_budget_s / shortest_series));
    }
    return target;
  }

  /// Tells whether a sample's repeats fit the rate that it showed.
  [[nodiscard]] bool fits(const Sample& sample, const Repeats& wanted) const {
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      const double ratio = static_cast<double>(wanted[i]) / static_cast<double>(sample.repeats()[i]);
      const double enough = flows_[i].measured() ? long_enough : background_slack;
      if (ratio > 1 / enough || ratio < 1 / far_too_long) return false;
    }
    return true;
  }

  /// Runs until the repeats fit and two runs in a row agree, or a bound is met; returns the repeats to sample
  /// with.
  Repeats warm_up() {
    const Seconds begin = session_.now();
    Repeats repeats = sampler_.ones();
    std::optional<Sample> last;
    double before = 0;
    for (int run = 0; run < most_warm_ups; ++run) {
      Sample sample = sampler_.take(repeats);
      const Repeats wanted = sampler_.repeats_for(sample, target_after(sample), last ? &*last : nullptr);
      const bool fitting = fits(sample, wanted);
      const double stopping_metric = sampler_.stopping_metrics(sample).front();
      if (fitting && std::abs(stopping_metric - before) <= stable * before) break;
      before = fitting ? stopping_metric : 0;
      if (!fitting) repeats = wanted;
      last = std::move(sample);
      // A first run that fits is enough where it alone takes all the time that the samples have. Whether that was the
      // transfer or a slow first start, only more than the fewest samples tell.
      const Seconds spent = session_.now() - begin;
      if (run > 0 && spent > warm_up_share * options_.point_budget_s) break;
      if (run > 0 || !fitting || spent <= options_.point_budget_s) continue;
      options_.fewest_in_budget = std::max(options_.fewest_in_budget, fewest_for_interval);
      break;
    }
    return repeats;
  }

  void keep_load_up(const Sample& sample, Repeats& repeats) {
    const std::vector<RateEstimate> rate_estimates = sample.rate_estimates();
    for (const std::size_t i : sample.ended_early()) {
      if (flows_[i].measured()) {
        sampler_.lengthen_tails();
        return;
      }
      const std::uint64_t more = sample.repeats()[i] + sample.repeats()[i] / 2 + 1;
      for (std::size_t j = 0; j < flows_.size(); ++j) {
        if (j == i || rate_estimates[j].same_group(rate_estimates[i]))
          repeats[j] = std::min(more, flows_[j].facts().most_repeats(regime_.clock));
      }
    }
  }

  void require_time_passed(const Sample& sample) const {
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      if (!(sample.per_transfer(i) > 0))
        throw Error(Fault::broken, "the clock saw no time pass: raise min_sample_s");
    }
  }

  /// Lets the series start over, with other repeats, where samples are far from as long as they shall be, because the
  /// plan rests on starts that were slower or faster. A sample that is too long may be a single stall, so it takes two in
  /// a row; of those that are too short, a quarter.
  [[nodiscard]] bool plan_again(const Sample& sample, Repeats& repeats, Planning& planning) const {
    const Repeats wanted = sampler_.repeats_for(sample, target_after(sample));
    bool too_short = false;
    bool too_long = false;
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      if (!flows_[i].measured()) continue;
      const double ratio = static_cast<double>(wanted[i]) / static_cast<double>(repeats[i]);
      too_short = too_short || ratio > 1 / long_enough;
      too_long = too_long || ratio < 1 / far_too_long;
    }
    ++planning.samples;
    if (too_short) ++planning.too_short;
    const bool again =
        (too_short && 4 * planning.too_short >= planning.samples) || (too_long && planning.was_long);
    planning.was_long = too_long;
    if (!again || planning.plans == most_plans) return false;
    planning = {.plans = planning.plans + 1};
    repeats = wanted;
    return true;
  }

  void add(Sample sample, Series& series) const {
    const std::vector<double> metrics = sampler_.stopping_metrics(sample);
    series.rules.resize(metrics.size(), StoppingRule(options_));
    for (std::size_t i = 0; i < metrics.size(); ++i) series.rules[i].add(metrics[i]);
    series.samples.push_back(std::move(sample));
  }

  /// Leaves a sample out whose threads waited for CPUs that the machine had given to others. Where that is so of
  /// most, it is how this machine is, and all count.
  [[nodiscard]] bool put_aside(const Sample& sample, Series& series, Seconds spent) const {
    if (series.all_count || !sample.kept_waiting()) return false;
    const bool few = series.samples.size() < options_.fewest_in_budget;
    series.all_count = series.kept_waiting.size() >= series.samples.size() + most_discarded ||
                       (few && spent >= options_.point_budget_s);
    if (!series.all_count) {
      series.kept_waiting.push_back(sample);
      return true;
    }
    for (Sample& before : series.kept_waiting) add(std::move(before), series);
    series.kept_waiting.clear();
    return false;
  }

  Series sample(Repeats repeats) {
    Series series;
    Planning planning;
    const Seconds begin = session_.now();
    for (;;) {
      const Sample sample = sampler_.take(repeats);
      require_time_passed(sample);
      const Seconds spent = session_.now() - begin;
      if (!sample.ended_early().empty()) {
        if (++series.load_ended > most_discarded)
          throw Error(Fault::broken, "a flow that is load for others kept ending before them");
        keep_load_up(sample, repeats);
        continue;
      }
      if (!put_aside(sample, series, spent)) {
        if (plan_again(sample, repeats, planning)) {
          // What was put aside goes as well: samples of other repeats must not count later.
          for (auto* samples : {&series.samples, &series.kept_waiting}) samples->clear();
          series.rules.clear();
        } else {
          add(sample, series);
        }
      }
      if (series.samples.empty()) continue;
      if (const auto stop = decide(series.rules, spent)) {
        series.stopped = *stop;
        return series;
      }
    }
  }

  /// Starts of one transfer each, where a transfer checks each start by itself: among many repeats, one that does nothing
  /// is not seen.
  void start_singly(const Repeats& repeats) {
    const auto finds_more = [&](std::size_t i) { return flows_[i].facts().checks_starts && repeats[i] > 1; };
    bool worth = false;
    for (std::size_t i = 0; i < flows_.size(); ++i) worth = worth || finds_more(i);
    for (int start = 0; worth && start < single_starts; ++start)
      static_cast<void>(sampler_.take(sampler_.ones()));
  }

  [[nodiscard]] static Interference interference_of(const Series& series) {
    Interference worst;
    std::vector<double> apart;
    for (const Sample& sample : series.samples) {
      const Interference one = sample.interference();
      worst.waited = std::max(worst.waited, one.waited);
      worst.switches += one.switches;
      apart.push_back(one.apart);
    }
    worst.apart = summarise(std::move(apart)).median;
    return worst;
  }

  [[nodiscard]] static std::vector<Seconds> parts_of(std::size_t i, const Series& series) {
    std::vector<std::vector<Seconds>> by_part(series.samples.front().per_operation_by_part(i).size());
    for (const Sample& sample : series.samples) {
      const std::vector<Seconds> times = sample.per_operation_by_part(i);
      for (std::size_t part = 0; part < times.size(); ++part) by_part[part].push_back(times[part]);
    }
    std::vector<Seconds> medians;
    for (std::vector<Seconds>& times : by_part) medians.push_back(summarise(std::move(times)).median);
    return medians;
  }

  [[nodiscard]] FlowResult flow_result(std::size_t i, const Series& series, const Tuned& tuned) const {
    const TransferFacts& facts = flows_[i].facts();
    FlowResult result;
    result.repeats = series.samples.back().repeats()[i];
    result.operations = facts.operations;
    std::vector<double> rates;
    for (const Sample& sample : series.samples) {
      result.samples_s.push_back(sample.per_operation(i));
      rates.push_back(sample.rate(i));
    }
    result.seconds = summarise(result.samples_s);
    if (flows_[i].parts.size() > 1) result.parts_s = parts_of(i, series);
    if (flows_[i].quantity == Quantity::bandwidth) result.gbps = summarise(std::move(rates));
    result.touched_bytes = facts.touched_bytes;
    result.setting = tuned.chosen.empty() ? facts.setting : tuned.chosen;
    result.tried = tuned.tried;
    result.notes = flows_[i].representative().notes();
    if (facts.accumulates)
      result.notes.emplace_back("changes its input: separate calls were checked, not the repeated ones");
    for (const auto& more : {flows_[i].notes, tuned.discarded})
      result.notes.insert(result.notes.end(), more.begin(), more.end());
    if (!flows_[i].measured()) return result;
    const auto before = std::count_if(flows_.begin(), flows_.begin() + static_cast<std::ptrdiff_t>(i),
                                      [](const MeasuredFlow& flow) { return flow.measured(); });
    const std::size_t rule = std::min(static_cast<std::size_t>(before), series.rules.size() - 1);
    const std::vector<std::string> warnings = series.rules[rule].warnings();
    result.notes.insert(result.notes.end(), warnings.begin(), warnings.end());
    return result;
  }

  [[nodiscard]] AggregateResult aggregate_result(const Series& series) const {
    std::vector<double> rates;
    std::vector<double> overlaps;
    for (const Sample& sample : series.samples) {
      rates.push_back(sample.aggregate_rate());
      overlaps.push_back(sample.overlap());
    }
    return {summarise(std::move(rates)), summarise(std::move(overlaps)).median, gate_.timeline_uncertainty()};
  }

  MeasurementSession& session_;
  const std::vector<MeasuredFlow>& flows_;
  Gate& gate_;
  Regime regime_;
  Sampler sampler_;
  SamplingOptions options_;  ///< the run's, within the case's own budget
  Seconds target_;
};

}  // namespace

CaseResult measure_case(MeasurementSession& session, Gate& gate, const std::vector<MeasuredFlow>& flows,
                        const Regime& regime) {
  return CaseMeasurement(session, gate, flows, regime).run();
}

}  // namespace linkscope
