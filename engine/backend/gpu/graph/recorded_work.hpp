// RecordedWork: which kernels and copies a recorded graph holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/gpu/vendor.hpp"

namespace linkscope::gpu {

struct RecordedWork {
  std::vector<std::string> kernels;  ///< the name of each kind of kernel, without its arguments
  unsigned int blocks = 0;           ///< of the first kernel, in x
  std::uint64_t copies = 0;

  /// Tells whether the graph holds work whose names the driver knows.
  [[nodiscard]] bool known() const { return !kernels.empty() || copies > 0; }
  /// "ncclSymkDevKernel_AllGather_ST, 16 CTAs", "copies by copy engines".
  [[nodiscard]] std::string text() const;
};

/// Returns the work of `graph`, which its recording has ended. Nothing where a kernel's name is unknown: before CUDA 12.3,
/// and on AMD GPUs. Throws Error{broken}.
[[nodiscard]] RecordedWork work_of(gpuGraph_t graph);

}  // namespace linkscope::gpu
