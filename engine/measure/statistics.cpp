// Order statistics, quantiles and the rule that stops.
#include "measure/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <numeric>

namespace linkscope {

std::size_t median_interval_order(std::size_t n) {
  if (n < fewest_for_interval) return 1;
  // The tail below ten standard deviations is beyond a double's reach of 2.5 %: start there.
  const double size = static_cast<double>(n);
  const double start = std::max(0.0, std::floor(size / 2 - 5 * std::sqrt(size)));
  double mass = std::exp(std::lgamma(size + 1) - std::lgamma(start + 1) - std::lgamma(size - start + 1) -
                         size * std::numbers::ln2);
  double below = 0;
  auto successes = static_cast<std::size_t>(start);
  while (below + mass <= 0.025) {
    below += mass;
    mass *= (size - static_cast<double>(successes)) / (static_cast<double>(successes) + 1);
    ++successes;
  }
  return std::max<std::size_t>(1, successes);
}

double quantile(const std::vector<double>& ascending, double q) {
  const double place = q * static_cast<double>(ascending.size() - 1);
  const auto left = static_cast<std::size_t>(place);
  const std::size_t right = std::min(left + 1, ascending.size() - 1);
  return ascending[left] + (place - static_cast<double>(left)) * (ascending[right] - ascending[left]);
}

double reciprocal_median(const std::vector<double>& ascending) {
  const double low = ascending[(ascending.size() - 1) / 2];
  const double high = ascending[ascending.size() / 2];
  return low > 0 && low != high ? std::sqrt(low) * std::sqrt(high) : (low + high) / 2;
}

Stats summarise(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const std::size_t n = samples.size();
  const std::size_t k = median_interval_order(n);
  Stats stats;
  stats.n = n;
  stats.median = reciprocal_median(samples);
  stats.low = samples[k - 1];
  stats.high = samples[n - k];
  stats.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(n);
  stats.min = samples.front();
  stats.p5 = quantile(samples, 0.05);
  stats.p95 = quantile(samples, 0.95);
  stats.p99 = quantile(samples, 0.99);
  stats.max = samples.back();
  return stats;
}

void StoppingRule::add(double value) {
  in_order_.push_back(value);
  ascending_.insert(std::upper_bound(ascending_.begin(), ascending_.end(), value), value);
}

bool StoppingRule::precise() const {
  const std::size_t n = ascending_.size();
  const std::size_t k = median_interval_order(n);
  const double median = reciprocal_median(ascending_);
  // The same for a time and for the rate that is its reciprocal.
  const double margin = std::max(ascending_[n - k] / median, median / ascending_[k - 1]) - 1;
  return margin <= options_.precision && std::abs(drift()) <= options_.precision;
}

double StoppingRule::drift() const {
  const auto half = static_cast<std::ptrdiff_t>(in_order_.size() / 2);
  if (half == 0) return 0;
  const double earlier = summarise({in_order_.begin(), in_order_.begin() + half}).median;
  const double later = summarise({in_order_.end() - half, in_order_.end()}).median;
  return later / earlier - 1;
}

std::optional<Stop> StoppingRule::decide(Seconds spent) const {
  const std::size_t n = in_order_.size();
  if (n >= options_.fewest_for_precision && precise()) return Stop::precision;
  if (n >= options_.max_samples) return Stop::samples;
  if (n >= options_.fewest_in_budget && spent >= options_.point_budget_s) return Stop::budget;
  return std::nullopt;
}

std::optional<Stop> decide(const std::vector<StoppingRule>& rules, Seconds spent) {
  Stop all = Stop::precision;
  for (const StoppingRule& rule : rules) {
    const std::optional<Stop> one = rule.decide(spent);
    if (!one) return std::nullopt;
    if (*one != Stop::precision) all = *one;
  }
  return all;
}

std::vector<std::string> StoppingRule::warnings() const {
  std::vector<std::string> remarks;
  std::array<char, 120> text{};
  if (in_order_.size() < fewest_for_interval) {
    std::snprintf(text.data(), text.size(),
                  "only %zu samples: the interval is their range, its confidence below 95 %% [few-samples]",
                  in_order_.size());
    remarks.emplace_back(text.data());
  } else if (std::abs(drift()) > options_.precision) {
    std::snprintf(text.data(), text.size(),
                  "drift: the later half of the samples is %+.1f %% off the earlier half", 100 * drift());
    remarks.emplace_back(text.data());
  }
  return remarks;
}

}  // namespace linkscope
