// Precision, budget and the number of samples.
#include "measure/stopping.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "measure/statistics.hpp"

namespace linkscope {

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
  if (n >= fewest_for_interval && precise()) return Stop::precision;
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
