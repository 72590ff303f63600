// Statistics of samples that assume nothing of their distribution.
#pragma once

#include <cstddef>
#include <vector>

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

}  // namespace linkscope
