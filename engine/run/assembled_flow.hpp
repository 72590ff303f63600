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

/// Makes flows ready, together with the other processes of the run.
class FlowAssembler {
 public:
  /// All outlive it. `gate` is this process's own.
  FlowAssembler(const Gate& gate, ProcessGroup& group, BufferPool& pool)
      : gate_(&gate), group_(&group), pool_(&pool) {}

  /// A collective call. Throws, alike in every process, what went wrong in any.
  [[nodiscard]] AssembledFlow assemble(const Flow& flow, const Regime& regime);

 private:
  [[nodiscard]] std::vector<LocalPart> lease_arenas(const Flow& flow, const std::vector<FlowPart>& parts,
                                                    const Regime& regime, AssembledFlow& assembled);
  [[nodiscard]] std::vector<Arenas> lease_together(const Flow& flow, const std::vector<FlowPart>& parts,
                                                   const Regime& regime, AssembledFlow& assembled);
  void connect(const std::vector<FlowPart>& parts, AssembledFlow& assembled);
  [[nodiscard]] Json own_statements(const PreparedParts& local_parts) const;

  const Gate* gate_;
  ProcessGroup* group_;
  BufferPool* pool_;
};

/// Whether a rotated flow of the method stays on one slot whatever its size: a graph's, a direct collective's.
[[nodiscard]] bool repeats_one_slot(const Flow& flow, Cache cache);

}  // namespace linkscope
