// When sampling ends, and what it says of itself.
#include <gtest/gtest.h>

#include "measure/statistics.hpp"

namespace linkscope {
namespace {

TEST(StoppingRule, PrecisionNeedsTheFewestSamples) {
  StoppingRule rule(SamplingOptions{});
  for (int i = 0; i < 5; ++i) {
    rule.add(1.0);
    EXPECT_FALSE(rule.decide(0)) << i;
  }
  rule.add(1.0);
  EXPECT_EQ(rule.decide(0), Stop::precision);
  EXPECT_TRUE(rule.warnings().empty());
}

TEST(StoppingRule, AWideIntervalGoesOnToTheMostSamples) {
  SamplingOptions options;
  options.max_samples = 50;
  StoppingRule rule(options);
  for (std::size_t i = 0; i < options.max_samples; ++i) {
    EXPECT_FALSE(rule.decide(0)) << i;
    rule.add(i % 2 == 0 ? 1.0 : 1.1);
  }
  EXPECT_EQ(rule.decide(0), Stop::samples);
}

TEST(StoppingRule, TheBudgetEndsItAfterThree) {
  StoppingRule rule(SamplingOptions{});
  rule.add(1.0);
  rule.add(1.0);
  EXPECT_FALSE(rule.decide(100));
  rule.add(1.0);
  EXPECT_FALSE(rule.decide(1.9));
  EXPECT_EQ(rule.decide(2.0), Stop::budget);
  ASSERT_EQ(rule.warnings().size(), 1U);
  EXPECT_NE(rule.warnings().front().find("only 3 samples"), std::string::npos);
}

TEST(StoppingRule, ADriftIsNoPrecision) {
  // A step of 1.5 % with hardly any noise: the median's interval alone would call it precise.
  SamplingOptions options;
  options.max_samples = 40;
  StoppingRule rule(options);
  for (int i = 0; i < 20; ++i) rule.add(1.0);
  for (int i = 0; i < 20; ++i) rule.add(1.015);
  EXPECT_NEAR(rule.drift(), 0.015, 1e-12);
  EXPECT_EQ(rule.decide(0), Stop::samples);
  ASSERT_EQ(rule.warnings().size(), 1U);
  EXPECT_NE(rule.warnings().front().find("+1.5 %"), std::string::npos);
}

TEST(StoppingRule, ADriftDownwardsIsNoPrecisionEither) {
  SamplingOptions options;
  options.max_samples = 40;
  StoppingRule rule(options);
  for (int i = 0; i < 20; ++i) rule.add(1.015);
  for (int i = 0; i < 20; ++i) rule.add(1.0);
  EXPECT_EQ(rule.decide(0), Stop::samples);
  ASSERT_EQ(rule.warnings().size(), 1U);
  EXPECT_NE(rule.warnings().front().find("-1.5 %"), std::string::npos);
}

TEST(StoppingRule, TheOrderOfSamplesDoesNotNarrowTheInterval) {
  StoppingRule rule(SamplingOptions{});
  for (const double value : {0.9, 1.001, 1.0, 1.0, 1.0, 1.0}) rule.add(value);
  EXPECT_FALSE(rule.decide(0));
}

TEST(StoppingRule, TheMiddleSampleIsOfNeitherHalf) {
  StoppingRule rule(SamplingOptions{});
  for (const double value : {1.0, 5.0, 1.0}) rule.add(value);
  EXPECT_DOUBLE_EQ(rule.drift(), 0);
}

}  // namespace
}  // namespace linkscope
