// reduce: one rank's numbers joined to another's, as an all-reduce does. Every way in which ranks share memory uses it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "model/schedule.hpp"

namespace linkscope::workload {

template <class Number>
void reduce_numbers(ReduceOp by, std::byte* numbers, const std::byte* further, int count) {
  for (std::size_t at = 0; at < static_cast<std::size_t>(count) * sizeof(Number); at += sizeof(Number)) {
    Number own{};
    Number other{};
    std::memcpy(&own, numbers + at, sizeof own);
    std::memcpy(&other, further + at, sizeof other);
    own = by == ReduceOp::sum   ? own + other
          : by == ReduceOp::min ? std::min(own, other)
                                : std::max(own, other);
    std::memcpy(numbers + at, &own, sizeof own);
  }
}

/// `numbers` and `further`: `what.count` of `what.type`; joined into the first, of any alignment. Called rank by rank in
/// their order, every rank gets the same bits.
inline void reduce(const SmallCollective& what, void* numbers, const void* further) {
  auto* const to = static_cast<std::byte*>(numbers);
  const auto* const from = static_cast<const std::byte*>(further);
  switch (what.type) {
    case NumberType::int32:
      return reduce_numbers<std::int32_t>(what.reduction, to, from, what.count);
    case NumberType::int64:
      return reduce_numbers<std::int64_t>(what.reduction, to, from, what.count);
    case NumberType::float64:
      return reduce_numbers<double>(what.reduction, to, from, what.count);
  }
}

}  // namespace linkscope::workload
