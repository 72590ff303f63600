// Spans of one start, and the figures they give.
#include "measure/sampler.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.hpp"

namespace linkscope {
namespace {

/// Repeats of a measured flow under sustained load: what runs untimed behind them stays a small share.
constexpr double fewest_sustained = 4;
constexpr double most_waiting = 0.01;     // of a part's time
constexpr Seconds least_waiting = 10e-6;  // interrupts take as much

}  // namespace

Sample::Sample(const std::vector<MeasuredFlow>& flows, const std::vector<Span>& spans, Repeats repeats,
               const Regime& regime)
    : flows_(&flows), repeats_(std::move(repeats)), regime_(regime) {
  first_start_ = first_end_ = std::numeric_limits<Seconds>::infinity();
  last_start_ = last_end_ = last_busy_ = -std::numeric_limits<Seconds>::infinity();
  auto part = spans.begin();
  for (const MeasuredFlow& flow : flows) {
    const auto end = part + static_cast<std::ptrdiff_t>(flow.parts.size());
    parts_.emplace_back(part, end);
    part = end;
    spans_.push_back(joined(flow, parts_.back()));
    const Span& span = spans_.back().span;
    if (!flow.measured()) continue;
    first_start_ = std::min(first_start_, span.start);
    last_start_ = std::max(last_start_, span.start);
    first_end_ = std::min(first_end_, span.end);
    last_end_ = std::max(last_end_, span.end);
    const Seconds idle = std::max(span.end, regime.load == Load::once ? span.idle : span.end);
    last_busy_ = std::max(last_busy_, flow.facts().arrives_late ? span.start : idle);
  }
}

Sample::FlowSpan Sample::joined(const MeasuredFlow& flow, const std::vector<Span>& spans) {
  constexpr Seconds never = std::numeric_limits<Seconds>::infinity();
  FlowSpan all{{never, -never, never}, 0, 0};
  Seconds sum = 0;
  Seconds longest = 0;
  double timed = 0;
  for (std::size_t part = 0; part < spans.size(); ++part) {
    const Span& span = spans[part];
    if (span.end < span.start)
      throw Error(Fault::broken, "a flow ended before it began: the clock cannot be trusted");
    if (flow.parts[part].timing == Timing::untimed) continue;
    all.span.start = std::min(all.span.start, span.start);
    all.span.end = std::max(all.span.end, span.end);
    all.span.idle = std::min(all.span.idle, span.idle);
    all.apart = std::max(all.apart, span.interference.apart);
    sum += span.length();
    longest = std::max(longest, span.length());
    ++timed;
  }
  if (timed == 0) throw Error(Fault::broken, "a flow has no part that is timed");
  all.length = flow.time == PartsTime::mean ? sum / timed : longest;
  return all;
}

TimedRepeats Sample::timed(std::size_t i) const {
  const FlowSpan& all = spans_[i];
  // One part's threads may be apart for longer than the mean of all parts.
  const bool mostly_apart = all.apart > all.length / 2 && all.apart < all.length;
  return {mostly_apart ? all.length - all.apart : all.length, repeats_[i]};
}

Seconds Sample::per_transfer(std::size_t i) const {
  return spans_[i].length / static_cast<double>(repeats_[i]);
}

Seconds Sample::per_operation(std::size_t i) const {
  return per_transfer(i) / static_cast<double>((*flows_)[i].facts().operations);
}

std::vector<Seconds> Sample::per_operation_by_part(std::size_t i) const {
  const MeasuredFlow& flow = (*flows_)[i];
  const auto operations = static_cast<double>(repeats_[i] * flow.facts().operations);
  std::vector<Seconds> times;
  for (std::size_t part = 0; part < parts_[i].size(); ++part) {
    if (flow.parts[part].timing == Timing::timed) times.push_back(parts_[i][part].length() / operations);
  }
  return times;
}

Bytes Sample::payload(std::size_t i) const {
  return (*flows_)[i].bytes * repeats_[i] * (*flows_)[i].facts().operations;
}

double Sample::rate(std::size_t i) const { return gbps(payload(i), spans_[i].length); }

Seconds Sample::length() const { return last_end_ - first_start_; }

double Sample::aggregate_rate() const {
  Bytes sum = 0;
  for (std::size_t i = 0; i < flows_->size(); ++i) {
    if ((*flows_)[i].measured()) sum += payload(i);
  }
  return gbps(sum, length());
}

double Sample::overlap() const {
  return length() > 0 ? std::max(0.0, first_end_ - last_start_) / length() : 0.0;
}

std::vector<std::size_t> Sample::ended_early() const {
  std::vector<std::size_t> early;
  for (std::size_t i = 0; i < flows_->size(); ++i) {
    const bool measured = (*flows_)[i].measured();
    const bool background_ended = !measured && std::max(spans_[i].span.end, spans_[i].span.idle) < last_busy_;
    const bool tail_ended = measured && regime_.load == Load::sustained && spans_[i].span.idle < last_end_;
    if (background_ended || tail_ended) early.push_back(i);
  }
  return early;
}

template <class What>
void Sample::each_measured(const What& what) const {
  for (std::size_t i = 0; i < flows_->size(); ++i) {
    const MeasuredFlow& flow = (*flows_)[i];
    for (std::size_t part = 0; part < parts_[i].size(); ++part) {
      if (flow.measured() && flow.parts[part].timing == Timing::timed) what(parts_[i][part]);
    }
  }
}

Interference Sample::interference() const {
  Interference worst;
  each_measured([&](const Span& span) {
    worst.waited = std::max(worst.waited, span.interference.waited);
    worst.apart = std::max(worst.apart, span.interference.apart);
    worst.switches += span.interference.switches;
  });
  return worst;
}

bool Sample::kept_waiting() const {
  bool kept = false;
  each_measured([&](const Span& span) {
    kept = kept || span.interference.waited > std::max(most_waiting * span.length(), least_waiting);
  });
  return kept;
}

std::vector<RateEstimate> Sample::rate_estimates(const Sample* before) const {
  std::vector<RateEstimate> rate_estimates;
  for (std::size_t i = 0; i < flows_->size(); ++i) {
    const MeasuredFlow& flow = (*flows_)[i];
    const std::uint64_t most = flow.facts().most_repeats(regime_.clock);
    const auto earlier = before == nullptr ? std::nullopt : std::optional(before->timed(i));
    rate_estimates.push_back({per_transfer_of(timed(i), earlier), flow.role, flow.tuning_group,
                              regime_.load == Load::sustained ? most / 2 : most,  // tails queue too
                              flow.facts().call_group});
  }
  return rate_estimates;
}

Sampler::Sampler(Gate& gate, const std::vector<MeasuredFlow>& flows, const Regime& regime)
    : gate_(&gate), flows_(&flows), regime_(regime) {
  for (const MeasuredFlow& flow : flows) {
    if (regime.load == Load::sustained && flow.facts().most_repeats(regime.clock) < 2)
      throw Error(Fault::unsupported,
                  "a sustained load keeps transfers queued: a flow here takes one at a time");
  }
}

std::uint64_t Sampler::tail_for(const MeasuredFlow& flow, std::uint64_t repeats) const {
  if (regime_.load == Load::once || !flow.measured()) return 0;
  const std::uint64_t queue = flow.facts().most_repeats(regime_.clock);
  return std::min(repeats * tail_eighths_ / 8 + 1, queue - std::min(queue, repeats));
}

Sample Sampler::take(const Repeats& repeats) {
  std::vector<Lane> lanes;
  for (std::size_t i = 0; i < flows_->size(); ++i) {
    const std::uint64_t tail = tail_for((*flows_)[i], repeats[i]);
    (*flows_)[i].each_part([&](Transfer& part) {
      part.restore();
      if (regime_.cache == Cache::flushed) part.flush();
      lanes.push_back({&part, repeats[i], tail});
    });
  }
  return {*flows_, gate_->run(lanes, regime_.clock), repeats, regime_};
}

Repeats Sampler::repeats_for(const Sample& last, Seconds target, const Sample* before) const {
  Seconds wanted = regime_.cache == Cache::flushed ? 0.0 : target;
  for (std::size_t i = 0; regime_.load == Load::sustained && i < flows_->size(); ++i) {
    if ((*flows_)[i].measured()) wanted = std::max(wanted, fewest_sustained * last.per_transfer(i));
  }
  Repeats repeats = plan_repeats(last.rate_estimates(before), wanted);
  const bool late = std::any_of(flows_->begin(), flows_->end(), [](const MeasuredFlow& flow) {
    return flow.measured() && flow.facts().arrives_late;
  });
  // What waits behind others takes longer the more of them there are: their repeats must not follow its time.
  for (std::size_t i = 0; late && i < flows_->size(); ++i) {
    if (!(*flows_)[i].measured()) repeats[i] = last.repeats()[i];
  }
  if (regime_.cache != Cache::flushed) return repeats;
  for (std::size_t i = 0; i < flows_->size(); ++i) {
    if ((*flows_)[i].measured()) repeats[i] = 1;
  }
  return repeats;
}

std::vector<double> Sampler::stopping_metrics(const Sample& sample) const {
  std::vector<double> times;
  for (std::size_t i = 0; i < flows_->size(); ++i) {
    if ((*flows_)[i].measured()) times.push_back(sample.per_operation(i));
  }
  const bool summed = regime_.load == Load::once && times.size() > 1 && all_bandwidth(*flows_);
  return summed ? std::vector<double>{sample.aggregate_rate()} : times;
}

bool all_bandwidth(const std::vector<MeasuredFlow>& flows) {
  return std::all_of(flows.begin(), flows.end(), [](const MeasuredFlow& flow) {
    return !flow.measured() || flow.quantity == Quantity::bandwidth;
  });
}

}  // namespace linkscope
