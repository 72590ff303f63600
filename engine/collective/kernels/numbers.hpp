// Numbers: how a GPU's threads add elements of each type, packed in words of 64 bits.
#pragma once

#include <bit>
#include <cstdint>

#include "backend/gpu/vendor.hpp"
#include "model/elements.hpp"

namespace linkscope::direct {

/// A type of element: how it is stored, and in what it is summed up. 16-bit floating point is summed up in 32 bits and
/// rounded once, to the nearest, ties to even.
struct Float32 {
  static constexpr ElementType type = ElementType::float32;
  using Stored = std::uint32_t;
  using Wide = float;
  __device__ static Wide widen(Stored bits) { return __uint_as_float(bits); }
  __device__ static Stored narrow(Wide number) { return __float_as_uint(number); }
};

struct Int32 {
  static constexpr ElementType type = ElementType::int32;
  using Stored = std::uint32_t;
  using Wide = std::uint32_t;  // sums that overflow come round
  __device__ static Wide widen(Stored bits) { return bits; }
  __device__ static Stored narrow(Wide number) { return number; }
};

struct Float16 {
  static constexpr ElementType type = ElementType::float16;
  using Stored = std::uint16_t;
  using Wide = float;
  __device__ static Wide widen(Stored bits) { return gpu::vendor::half_to_float(bits); }
  __device__ static Stored narrow(Wide number) { return gpu::vendor::float_to_half(number); }
};

struct BFloat16 {
  static constexpr ElementType type = ElementType::bfloat16;
  using Stored = std::uint16_t;
  using Wide = float;
  __device__ static Wide widen(Stored bits) {
    return __uint_as_float(static_cast<std::uint32_t>(bits) << 16U);
  }
  __device__ static Stored narrow(Wide number) {
    const std::uint32_t bits = __float_as_uint(number);
    if ((bits & 0x7FFFFFFFU) > 0x7F800000U)
      return static_cast<Stored>(bits >> 16U | 0x40U);  // stays no number
    return static_cast<Stored>((bits + 0x7FFFU + (bits >> 16U & 1U)) >> 16U);
  }
};

/// Returns what `choose` returns for a number of that type.
template <class Choose>
const void* by_number(ElementType type, const Choose& choose) {
  switch (type) {
    case ElementType::float32:
      return choose(Float32());
    case ElementType::int32:
      return choose(Int32());
    case ElementType::float16:
      return choose(Float16());
    case ElementType::bfloat16:
      return choose(BFloat16());
  }
  return nullptr;
}

template <class Number>
inline constexpr int per_word = static_cast<int>(sizeof(std::uint64_t) / sizeof(typename Number::Stored));

/// A word's elements, from the low bytes up, as GPUs lay them.
template <class Number>
__device__ typename Number::Stored element_of(std::uint64_t word, int index) {
  constexpr unsigned bits = 8 * sizeof(typename Number::Stored);
  return static_cast<typename Number::Stored>(word >> (bits * static_cast<unsigned>(index)));
}

template <class Number>
__device__ std::uint64_t placed(typename Number::Stored element, int index) {
  constexpr unsigned bits = 8 * sizeof(typename Number::Stored);
  return static_cast<std::uint64_t>(element) << (bits * static_cast<unsigned>(index));
}

/// A running sum of `words` words of elements.
template <class Number, int words>
class WordSum {
 public:
  __device__ void add(const std::uint64_t (&load)[words]) {
    for (int w = 0; w < words; ++w) {
      for (int i = 0; i < per_word<Number>; ++i) sums_[w][i] += Number::widen(element_of<Number>(load[w], i));
    }
  }
  __device__ void total(std::uint64_t (&load)[words]) const {
    for (int w = 0; w < words; ++w) {
      load[w] = 0;
      for (int i = 0; i < per_word<Number>; ++i) load[w] |= placed<Number>(Number::narrow(sums_[w][i]), i);
    }
  }

 private:
  typename Number::Wide sums_[words][per_word<Number>] = {};
};

}  // namespace linkscope::direct
