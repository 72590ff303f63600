// LocalRank: a rank of this process on a GPU, before it is connected.
#pragma once

#include <memory>
#include <vector>

#include "backend/gpu/call/call_transfer.hpp"
#include "backend/gpu/packing/gpu_packer.hpp"
#include "workload/methods.hpp"

namespace linkscope::workload {

struct LocalRank {
  RankContext context;               ///< its transport is still to be set
  gpu::GpuPacker* packer = nullptr;  ///< the context's
};

/// Throws Error{unsupported} where a rank's GPU does not reach its memory.
[[nodiscard]] inline std::vector<LocalRank> local_ranks(const gpu::GpuPackers& packers, const Flow& flow,
                                                        const std::vector<LocalPart>& own) {
  std::vector<LocalRank> ranks;
  for (const LocalPart& part : own) {
    LocalRank& one = ranks.emplace_back();
    one.context = rank_context(flow, part, [&](const Endpoint& state, const Endpoint& buffers) {
      auto packer = packers.gpu_packer(state, buffers);
      one.packer = packer.get();
      return packer;
    });
  }
  return ranks;
}

/// The thread of a rank whose packer is on `device`.
[[nodiscard]] inline RankThread thread_of(const std::shared_ptr<gpu::GpuContext>& context, int device) {
  return {.node = gpu::calling_node(*context, device),
          .prepare = [context, device] { context->use(device); }};
}

}  // namespace linkscope::workload
