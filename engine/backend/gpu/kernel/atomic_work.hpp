// AtomicWork: which atomic operations a flow asks for.
#pragma once

#include <cstdint>

#include "base/units.hpp"
#include "model/flow.hpp"

namespace linkscope::gpu {

enum class AtomicOperation { add, exchange, compare_and_swap };

/// Operation i works on word i % addresses.
struct AtomicWork {
  AtomicOperation operation = AtomicOperation::add;
  Bytes width = 4;
  std::uint64_t count = 1;  ///< operations of one transfer
  std::uint64_t addresses = 1;

  [[nodiscard]] Bytes span() const { return addresses * width; }
  /// Operations of one transfer on `word`.
  [[nodiscard]] constexpr std::uint64_t laps(std::uint64_t word) const {
    return count / addresses + (word < count % addresses ? 1 : 0);
  }

  /// Parameters operation, width and addresses. Throws Error{bad_input} for another width than 4 and 8.
  static AtomicWork of(const Flow& flow);
};

}  // namespace linkscope::gpu
