// reduce: one rank's numbers joined to another's, as an all-reduce does; and the numbers that ranks reduce.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "model/schedule.hpp"

namespace linkscope::workload {

/// Calls `with(Number{})`, the number being of the C++ type of `type`.
template <class With>
void with_number(NumberType type, const With& with) {
  switch (type) {
    case NumberType::int32:
      return with(std::int32_t{});
    case NumberType::int64:
      return with(std::int64_t{});
    case NumberType::float64:
      return with(double{});
  }
}

/// `numbers` and `further`: `what.count` of `what.type`; joined into the first, of any alignment. Called rank by rank in
/// their order, every rank gets the same bits.
inline void reduce(const SmallCollective& what, void* numbers, const void* further) {
  with_number(what.type, [&]<class Number>(Number own) {
    Number other{};
    for (std::size_t i = 0; std::cmp_less(i, what.count); ++i) {
      std::byte* const at = static_cast<std::byte*>(numbers) + i * sizeof own;
      std::memcpy(&own, at, sizeof own);
      std::memcpy(&other, static_cast<const std::byte*>(further) + i * sizeof other, sizeof other);
      own = what.reduction == ReduceOp::sum   ? own + other
            : what.reduction == ReduceOp::min ? std::min(own, other)
                                              : std::max(own, other);
      std::memcpy(at, &own, sizeof own);
    }
  });
}

/// Writes what `rank` reduces: numbers that differ by rank and place, with a period of `reduced_period`, so small that
/// every sum is exact.
inline constexpr int reduced_period = 61;
inline void write_own_numbers(NumberType type, int count, int rank, std::byte* to) {
  with_number(type, [&]<class Number>(Number own) {
    for (int i = 0; i < count; ++i, to += sizeof own) {
      own = static_cast<Number>((13 * rank + i) % reduced_period + 1);
      std::memcpy(to, &own, sizeof own);
    }
  });
}

}  // namespace linkscope::workload
