// Slots: the memory that messages take in turn.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.hpp"

namespace linkscope {

struct Slots {
  std::byte* base = nullptr;
  Bytes stride = 0;
  std::uint64_t count = 1;

  /// Of message `index`. One slot costs no division: that would be seen in a message of 200 ns.
  [[nodiscard]] std::byte* at(std::uint64_t index) const noexcept {
    return count == 1 ? base : base + index % count * stride;
  }
};

}  // namespace linkscope
