// The bits of collectives' numbers, read back as IEEE 754 and bfloat16 define them.
#include "model/elements.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace linkscope {
namespace {

/// The number that `bits` say, of a type with so many bits of exponent and of fraction.
double decode(std::uint32_t bits, int exponent_bits, int fraction_bits) {
  const std::uint32_t fraction = bits & ((1U << fraction_bits) - 1U);
  const auto exponent = static_cast<int>(bits >> fraction_bits & ((1U << exponent_bits) - 1U));
  const double sign = (bits >> (exponent_bits + fraction_bits) & 1U) != 0 ? -1 : 1;
  if (exponent == 0) return fraction == 0 ? 0 : std::nan("");
  const int bias = (1 << (exponent_bits - 1)) - 1;
  return sign * std::ldexp(1 + std::ldexp(static_cast<double>(fraction), -fraction_bits), exponent - bias);
}

TEST(ElementBits, AreTheNumberInEveryType) {
  for (int number = -256; number <= 256; ++number) {
    EXPECT_EQ(decode(element_bits(ElementType::float32, number), 8, 23), number);
    EXPECT_EQ(decode(element_bits(ElementType::float16, number), 5, 10), number);
    EXPECT_EQ(decode(element_bits(ElementType::bfloat16, number), 8, 7), number);
    EXPECT_EQ(std::bit_cast<std::int32_t>(element_bits(ElementType::int32, number)), number);
  }
}

TEST(ElementBits, FitTheElement) {
  for (int number = -256; number <= 256; ++number) {
    EXPECT_LE(element_bits(ElementType::float16, number), 0xFFFFU) << number;
    EXPECT_LE(element_bits(ElementType::bfloat16, number), 0xFFFFU) << number;
  }
}

}  // namespace
}  // namespace linkscope
