// Statistics of samples that assume nothing of their distribution; when there are enough samples, and why.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace linkscope {

/// Summary of one quantity's samples. `low`..`high` is the distribution-free 95 % interval of the median.
struct Stats {
  std::size_t n = 0;
  double median = 0;
  double low = 0;
  double high = 0;
  double mean = 0;
  double min = 0;
  double p5 = 0;
  double p95 = 0;
  double p99 = 0;
  double max = 0;
};

/// Fewest samples for which two order statistics enclose the median with 95 % confidence (1 - 2 / 2^6 = 96.9
/// %).
inline constexpr std::size_t fewest_for_interval = 6;

/// Samples of which the 99th percentile is not the largest alone: two are beyond it.
inline constexpr std::size_t fewest_for_tail = 200;

/// The largest k (from 1) such that the k-th smallest and the k-th largest of n independent samples enclose
/// the median with at least 95 % confidence: the largest k with P(Binomial(n, 1/2) < k) <= 2.5 %.
/// For n < fewest_for_interval no pair does; the answer is then 1, the whole range.
/// Source: David & Nagaraja, Order Statistics, 3rd ed., section 7.1; Hahn & Meeker, Statistical Intervals.
std::size_t median_interval_order(std::size_t n);

/// The q-quantile (0..1) of ascending samples, linear between neighbours (type 7 of Hyndman & Fan, 1996).
double quantile(const std::vector<double>& ascending, double q);

/// The median of ascending samples, of an even number of positive ones the geometric mean of the middle two:
/// so that of rates is one over that of times.
double reciprocal_median(const std::vector<double>& ascending);

/// Summary of `samples`, which need no order and must not be empty.
Stats summarise(std::vector<double> samples);

/// The options of sampling that a plan sets (plan.schema.json).
struct SamplingOptions {
  double precision = 0.01;  ///< asked distance of the 95 % interval's farther end from the median, relative
  std::size_t max_samples = 500;
  std::size_t fewest_in_budget = 3;  ///< taken however long they last
  Seconds point_budget_s = 2.0;      ///< wall time of the sampling, after the warm-up
  Seconds min_sample_s = 0.0001;     ///< a sample repeats its transfer until it lasts this long
  std::size_t fewest_for_precision = fewest_for_interval;  ///< precision does not end sampling before
};

enum class Stop { precision, budget, samples };

/// Watches the stopping metric. Precision counts as reached only when the interval is narrow enough AND the
/// later half of the samples has the same median as the earlier half to within the asked precision: an
/// interval of order statistics believes that samples are independent, and a drift would make it narrower
/// than the truth.
class StoppingRule {
 public:
  explicit StoppingRule(const SamplingOptions& options) : options_(options) {}

  void add(double value);
  /// Returns why to stop now, if at all. `spent` is the sampling's wall time so far.
  [[nodiscard]] std::optional<Stop> decide(Seconds spent) const;
  /// Median of the later half over the median of the earlier half, less one.
  [[nodiscard]] double drift() const;
  /// Remarks on how far the interval can be trusted; empty when it can.
  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  [[nodiscard]] bool precise() const;

  SamplingOptions options_;
  std::vector<double> in_order_;
  std::vector<double> ascending_;
};

/// Decides for several figures watched together: nothing as long as one of them wants more samples; precision only
/// where all have it. Throws nothing; `rules` holds at least one.
std::optional<Stop> decide(const std::vector<StoppingRule>& rules, Seconds spent);

}  // namespace linkscope
