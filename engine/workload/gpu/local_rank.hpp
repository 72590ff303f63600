// LocalRank: a rank of this process on a GPU, before it is connected.
#pragma once

#include <memory>

#include "backend/gpu/packing/gpu_packer.hpp"
#include "workload/phase_work.hpp"

namespace linkscope::workload {

struct LocalRank {
  RankContext context;  ///< packer and transport are still to be named
  std::unique_ptr<gpu::GpuPacker> packer;
};

}  // namespace linkscope::workload
