// The interval of the median against the exact binomial distribution, and quantiles.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "measure/statistics.hpp"

namespace linkscope {
namespace {

/// P(Binomial(n, 1/2) < k), by Pascal's triangle in halves: no logarithms, so independent of the code under
/// test.
long double below(std::size_t n, std::size_t k) {
  std::vector<long double> mass{1.0L};
  for (std::size_t row = 0; row < n; ++row) {
    std::vector<long double> next(mass.size() + 1, 0.0L);
    for (std::size_t i = 0; i < mass.size(); ++i) {
      next[i] += mass[i] / 2;
      next[i + 1] += mass[i] / 2;
    }
    mass = std::move(next);
  }
  return std::accumulate(mass.begin(), mass.begin() + static_cast<std::ptrdiff_t>(k), 0.0L);
}

TEST(MedianIntervalOrder, IsTheNarrowestThatCovers) {
  for (std::size_t n = fewest_for_interval; n <= 200; ++n) {
    const std::size_t k = median_interval_order(n);
    ASSERT_GE(k, 1U);
    EXPECT_LE(below(n, k), 0.025L) << n;
    EXPECT_GT(below(n, k + 1), 0.025L) << n;
  }
}

TEST(MedianIntervalOrder, KnownValues) {
  EXPECT_EQ(median_interval_order(6), 1U);
  EXPECT_EQ(median_interval_order(9), 2U);
  EXPECT_EQ(median_interval_order(20), 6U);
  EXPECT_EQ(median_interval_order(100), 40U);
}

TEST(MedianIntervalOrder, LargeCountsDoNotUnderflow) {
  // Half the count less 1.96 / 2 standard deviations' worth: the normal limit.
  EXPECT_NEAR(static_cast<double>(median_interval_order(100000)), 50000 - 0.98 * 316.23, 2.0);
}

TEST(Quantile, IsLinearBetweenNeighbours) {
  const std::vector<double> ascending{1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(quantile(ascending, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(ascending, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(ascending, 1), 4);
  EXPECT_DOUBLE_EQ(quantile({5}, 0.99), 5);
}

TEST(Summarise, ItsMedianOfRatesIsOneOverThatOfTimes) {
  const double bytes = 3e6;
  std::vector<double> times{1e-6, 9e-6, 2e-6, 8e-6};
  std::vector<double> rates;
  for (const double time : times) rates.push_back(bytes / time);
  EXPECT_DOUBLE_EQ(summarise(times).median, 4e-6);
  EXPECT_DOUBLE_EQ(summarise(rates).median, bytes / 4e-6);
  EXPECT_DOUBLE_EQ(summarise({0, 4}).median, 2) << "a time of 0 has no logarithm";
}

TEST(Summarise, TakesAnyOrder) {
  const Stats stats = summarise({9, 1, 8, 2, 7, 3, 6, 4, 5});
  EXPECT_EQ(stats.n, 9U);
  EXPECT_DOUBLE_EQ(stats.median, 5);
  EXPECT_DOUBLE_EQ(stats.low, 2);
  EXPECT_DOUBLE_EQ(stats.high, 8);
  EXPECT_DOUBLE_EQ(stats.mean, 5);
  EXPECT_DOUBLE_EQ(stats.min, 1);
  EXPECT_DOUBLE_EQ(stats.max, 9);
}

TEST(Summarise, HasThePercentilesItNames) {
  std::vector<double> samples(101);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<double>(i);
  const Stats stats = summarise(samples);
  EXPECT_DOUBLE_EQ(stats.p5, 5);
  EXPECT_DOUBLE_EQ(stats.p95, 95);
  EXPECT_DOUBLE_EQ(stats.p99, 99);
}

}  // namespace
}  // namespace linkscope
