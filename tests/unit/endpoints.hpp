// Endpoints with the traits of their memories, as a catalog gives them to a plan's. For tests.
#pragma once

#include <stdexcept>
#include <string>

#include "backend/modelled/rows.hpp"
#include "model/buffer.hpp"

namespace linkscope {

/// Throws std::out_of_range for a memory that described nodes do not have.
inline MemoryTraits traits_of(const std::string& memory) {
  for (const MemorySpec& spec : modelled::memory_specs) {
    if (spec.name == memory) return spec.traits;
  }
  throw std::out_of_range(memory);
}

/// Bound to `device`.
inline Endpoint endpoint(DeviceId device, const std::string& memory, int rank = 0) {
  return {device, memory, Placement::bound, device, {}, rank, traits_of(memory)};
}

/// Of that memory instead, wherever it is.
inline void move_to(Endpoint& end, const std::string& memory) {
  end.memory = memory;
  end.traits = traits_of(memory);
}

}  // namespace linkscope
