// Elements: the numbers that collectives reduce, and what must come of them, exactly.
#pragma once

#include <bit>
#include <cstdint>

namespace linkscope {

enum class ElementType { float32, float16, bfloat16, int32 };

/// Elements hold a member's input, or the sum of all members' inputs.
enum class Values { input, sum };

/// A run of elements: which numbers, and from which index on.
struct Elements {
  ElementType type = ElementType::float32;
  Values values = Values::input;
  int member = 0;
  int members = 1;
  std::uint64_t first = 0;  ///< index of the first one
};

/// Element `index` of member `member`'s input in round `seed`: a whole number from -3 to 3, so that a sum over up to 80
/// members is exact in every type, in any order. constexpr so that one definition serves the host and the device.
constexpr int input_element(std::uint64_t seed, int member, std::uint64_t index) {
  std::uint64_t word = (index + (seed * 0xD1B54A32D192ED03ULL) +
                        (static_cast<std::uint64_t>(member) * 0xA0761D6478BD642FULL)) *
                       0x9E3779B97F4A7C15ULL;
  word ^= word >> 32U;
  return static_cast<int>((word * 0xE7037ED1A0B428DBULL >> 40U) % 7U) - 3;
}

/// Sum of all members' inputs.
constexpr int summed_element(std::uint64_t seed, int members, std::uint64_t index) {
  int sum = 0;
  for (int member = 0; member < members; ++member) sum += input_element(seed, member, index);
  return sum;
}

/// The number that element `index` (counted from elements.first) holds in round `seed`.
constexpr int element_at(const Elements& elements, std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t at = elements.first + index;
  return elements.values == Values::sum ? summed_element(seed, elements.members, at)
                                        : input_element(seed, elements.member, at);
}

constexpr unsigned element_bytes(ElementType type) {
  return type == ElementType::float32 || type == ElementType::int32 ? 4 : 2;
}

/// The bits of a whole number of that type, in the low bytes. Exact up to 256, which is as far as bfloat16 goes.
constexpr std::uint32_t element_bits(ElementType type, int number) {
  if (type == ElementType::int32) return static_cast<std::uint32_t>(number);
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(number));
  if (type == ElementType::float32) return bits;
  if (type == ElementType::bfloat16) return bits >> 16U;
  if (number == 0) return 0;
  constexpr std::uint32_t bias = (127U - 15U) << 23U;  // between the two exponents
  return (bits >> 16U & 0x8000U) | ((bits & 0x7FFFFFFFU) - bias) >> 13U;
}

}  // namespace linkscope
