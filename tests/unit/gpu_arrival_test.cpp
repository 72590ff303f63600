// Times that late arrivals are drawn for.
#include "backend/gpu/gate/arrival.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace linkscope::gpu {
namespace {

TEST(Arrival, PartsOfAnyRoundsInARowFillTheirTimeEvenly) {
  constexpr std::uint64_t rounds = 1000;
  constexpr std::uint64_t bins = 10;
  constexpr double each = 100;  // of 1000 rounds in 10 bins
  for (const std::uint64_t first : {std::uint64_t{1}, std::uint64_t{77}, std::uint64_t{1} << 32U}) {
    std::vector<std::uint64_t> counts(bins, 0);
    for (std::uint64_t round = first; round < first + rounds; ++round) {
      const double part = drawn_part(round);
      ASSERT_GE(part, 0);
      ASSERT_LT(part, 1);
      ++counts[static_cast<std::size_t>(part * bins)];
    }
    for (const std::uint64_t count : counts) EXPECT_NEAR(static_cast<double>(count), each, 5) << first;
  }
}

}  // namespace
}  // namespace linkscope::gpu
