// Kernels of direct collectives that make up their inputs from the call's number and check their results, call by call.
#pragma once

#include <cstdint>

#include "collective/launch_choice.hpp"
#include "model/flow_part.hpp"

namespace linkscope::direct {

/// As StressOptions::kernel_of, of int32, out of place: data of an earlier call is found even among the calls that one
/// kernel makes. The GPU of `member` is current.
const void* self_checking_kernel(const CollectiveShape& shape, const LaunchChoice& choice, int member,
                                 const Arenas& arenas);

/// Elements of results that kernels on all GPUs have looked at since forget_checks().
struct CheckedElements {
  std::uint64_t checked = 0;
  std::uint64_t wrong = 0;
  std::uint64_t wrong_call = 0;  ///< one of the calls in which they were
};
CheckedElements checked_elements();
void forget_checks();

}  // namespace linkscope::direct
