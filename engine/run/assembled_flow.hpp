// AssembledFlow: a flow made ready: its memory here, its parts here, and stand-ins for those elsewhere.
#pragma once

#include <memory>
#include <vector>

#include "comm/process_group.hpp"
#include "measure/measured_flow.hpp"
#include "model/flow_part.hpp"
#include "run/binding.hpp"
#include "run/buffer_pool.hpp"

namespace linkscope {

/// Members go in reverse order, the memory last.
struct AssembledFlow {
  std::vector<BufferPool::Lease> leases;
  std::unique_ptr<PreparedParts> local_parts;
  std::vector<std::unique_ptr<Transfer>> elsewhere;
  std::vector<MeasuredPart> parts;  ///< all of them, in order
};

/// Makes a flow ready, together with the other processes of the run. `gate` is this process's own. A collective call.
/// Throws, alike in every process, what went wrong in any.
[[nodiscard]] AssembledFlow assemble(const Flow& flow, const Regime& regime, const Gate& gate,
                                     ProcessGroup& group, BufferPool& pool);

}  // namespace linkscope
