// The parameters of direct-collective beside those of every collective; StressOptions: what tests set beside them.
#pragma once

#include <cstdint>

#include "base/units.hpp"
#include "collective/kernels/kernels.hpp"
#include "collective/protocol/workspace.hpp"
#include "model/collective.hpp"

namespace linkscope::direct {

/// eager: a launch for each call. graph: calls recorded once, launched as a graph. in_kernel: one launch makes all the
/// calls of a start; its blocks go on to the next call when their part of one is complete.
enum class LaunchMode { eager, graph, in_kernel };

namespace parameter {

inline constexpr Parameter form =
    word("form", "eager|graph|in-kernel",
         "eager: a launch for each call; graph: calls recorded once, launched as a graph; in-kernel: one "
         "launch makes all calls of a start, each member's blocks waiting for the same blocks of the others");
inline constexpr Parameter recorded = integer("recorded", "calls that one graph holds", 1, 64, 1);
/// In the order of Algorithm, behind auto.
inline constexpr Parameter algorithm =
    word("algorithm",
         "auto|one-shot|two-shot|one-shot-ll|two-shot-ll|one-shot-ll128|two-shot-ll128|two-shot-push|ring",
         "auto: measured; rows number the others from 0 in their order");
inline constexpr Parameter blocks =
    integer("blocks", "blocks of each kernel, all resident at once; measured unless set", 1, most_blocks);
inline constexpr Parameter threads =
    integer("threads", "threads per block, a multiple of 32; measured unless set", 32, packet_threads);
inline constexpr Parameter chunk = integer(
    "chunk", "bytes that two-shot-push and ring store between flags, a multiple of 16; measured unless set",
    vector_bytes, MiB);
/// In the order of DependentLaunch, and measured.
inline constexpr Parameter dependent_launch =
    optional_word("dependent_launch", "complete|programmatic|early|measured",
                  "when a call's kernel may start on the GPU: complete: at the end of the kernel before it; "
                  "programmatic: when that one has begun; early: when that one has been sent to the GPU; "
                  "measured: all three are tried; unless set, programmatic if the GPU has it, a launch "
                  "follows another and each member has a GPU of its own, else complete; rows number them "
                  "from 0");

}  // namespace parameter

/// How the calls of a direct collective are launched.
struct DirectOptions {
  LaunchMode launching = LaunchMode::eager;
  std::uint64_t recorded = 1;  ///< calls that one graph holds

  static DirectOptions of(const Parameters& parameters) {
    return {parameters.choice<LaunchMode>(parameter::form),
            static_cast<std::uint64_t>(parameters.number(parameter::recorded))};
  }
};

struct LaunchChoice;

/// Options that no plan can set: tests make a method with them. The defaults are every run's.
struct StressOptions {
  /// Gives other kernels of the same arguments, which make up their inputs and check their results: neither is verified.
  const void* (*kernel_of)(const CollectiveShape& shape, const LaunchChoice& choice, int member,
                           const Arenas& arenas) = nullptr;
  Seconds wait_limit = 10;  ///< how long a kernel waits for a member before all give up
  Seconds jitter = 0;       ///< calls begin up to about this much later, by chance: members, and threads
};

}  // namespace linkscope::direct
