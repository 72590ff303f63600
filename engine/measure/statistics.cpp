// Order statistics and quantiles.
#include "measure/statistics.hpp"

#include <algorithm>
#include <cmath>
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

}  // namespace linkscope
