// Spans of one start, and the figures they give.
#include "measure/sampler.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.hpp"

namespace linkscope {

Sample::Sample(const std::vector<Participant>& flows, std::vector<Span> spans, Repeats repeats)
    : flows_(&flows), spans_(std::move(spans)), repeats_(std::move(repeats)) {
  first_start_ = first_end_ = std::numeric_limits<Seconds>::infinity();
  last_start_ = last_end_ = -std::numeric_limits<Seconds>::infinity();
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (spans_[i].end < spans_[i].start)
      throw Error(Fault::broken, "a flow ended before it began: the clock cannot be trusted");
    if (!flows[i].measured()) continue;
    first_start_ = std::min(first_start_, spans_[i].start);
    last_start_ = std::max(last_start_, spans_[i].start);
    first_end_ = std::min(first_end_, spans_[i].end);
    last_end_ = std::max(last_end_, spans_[i].end);
  }
}

Seconds Sample::per_transfer(std::size_t i) const {
  return spans_[i].length() / static_cast<double>(repeats_[i]);
}

Seconds Sample::per_operation(std::size_t i) const {
  return per_transfer(i) / static_cast<double>((*flows_)[i].transfer->operations());
}

Bytes Sample::payload(std::size_t i) const {
  return (*flows_)[i].bytes * repeats_[i] * (*flows_)[i].transfer->operations();
}

double Sample::rate(std::size_t i) const { return gbps(payload(i), spans_[i].length()); }

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
    if (!(*flows_)[i].measured() && spans_[i].end < last_end_) early.push_back(i);
  }
  return early;
}

std::vector<Pace> Sample::paces() const {
  std::vector<Pace> paces;
  for (std::size_t i = 0; i < flows_->size(); ++i) {
    const Participant& flow = (*flows_)[i];
    paces.push_back({per_transfer(i), flow.role, flow.transfer->max_repeats()});
  }
  return paces;
}

Sampler::Sampler(Gate& gate, const std::vector<Participant>& flows, Clock clock, Cache cache)
    : gate_(&gate), flows_(&flows), clock_(clock), cache_(cache) {}

Sample Sampler::take(const Repeats& repeats) {
  std::vector<Lane> lanes;
  for (std::size_t i = 0; i < flows_->size(); ++i) {
    if (cache_ == Cache::flushed) (*flows_)[i].transfer->flush();
    lanes.push_back({(*flows_)[i].transfer, repeats[i]});
  }
  return {*flows_, gate_->run(lanes, clock_), repeats};
}

Repeats Sampler::repeats_for(const Sample& last, Seconds target) const {
  const Seconds wanted = cache_ == Cache::flushed ? 0.0 : target;
  Repeats repeats = plan_repeats(last.paces(), wanted);
  if (cache_ != Cache::flushed) return repeats;
  for (std::size_t i = 0; i < flows_->size(); ++i) {
    if ((*flows_)[i].measured()) repeats[i] = 1;
  }
  return repeats;
}

double Sampler::headline(const Sample& sample) const {
  const auto is_measured = [](const Participant& flow) { return flow.measured(); };
  const auto several = std::count_if(flows_->begin(), flows_->end(), is_measured) > 1;
  if (several && all_bandwidth(*flows_)) return sample.aggregate_rate();
  const auto first = std::find_if(flows_->begin(), flows_->end(), is_measured);
  return sample.per_operation(static_cast<std::size_t>(first - flows_->begin()));
}

bool all_bandwidth(const std::vector<Participant>& flows) {
  return std::all_of(flows.begin(), flows.end(), [](const Participant& flow) {
    return !flow.measured() || flow.quantity == Quantity::bandwidth;
  });
}

}  // namespace linkscope
