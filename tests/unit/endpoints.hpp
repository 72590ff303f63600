// Endpoints with the traits of their memories, as a catalog gives them to a plan's. For tests.
#pragma once

#include <map>
#include <string>

#include "model/buffer.hpp"
#include "model/traits.hpp"

namespace linkscope {

/// Throws std::out_of_range for a memory that no test needs.
inline MemoryTraits traits_of(const std::string& memory) {
  static const std::map<std::string, MemoryTraits> known{{"pageable", pageable_traits},
                                                         {"huge", huge_traits},
                                                         {"shm", shm_traits},
                                                         {"pinned", pinned_traits},
                                                         {"registered", registered_traits},
                                                         {"write-combined", write_combined_traits},
                                                         {"device", device_traits},
                                                         {"managed", managed_traits},
                                                         {"pool", pool_traits},
                                                         {"vmm", vmm_traits},
                                                         {"xccl", xccl_memory_traits},
                                                         {"fine-grained", grained_traits},
                                                         {"coarse-grained", grained_traits}};
  return known.at(memory);
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
