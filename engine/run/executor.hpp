// Executor: runs a plan's cases one by one and writes a row for each.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "measure/case_measurement.hpp"
#include "model/backend.hpp"
#include "model/support.hpp"
#include "record/json_lines.hpp"
#include "run/buffer_pool.hpp"
#include "run/consensus.hpp"
#include "run/environment.hpp"
#include "run/plan.hpp"
#include "run/process_group_gate.hpp"

namespace linkscope {

/// Whether the engine can take the next case.
enum class Health { sound, lost };

class Executor {
 public:
  /// All references outlive the executor. Every process of `world` runs the same plan. Throws Error{bad_input} when the
  /// plan names a method, a memory or a parameter that the catalog does not know: nothing has run then.
  Executor(const Backend& backend, const Plan& plan, const Environment& environment, ProcessGroup& group,
           JsonLines& out);

  /// Writes hello, a start and a row per case, and done; a process other than rank 0 says `end` in a row's place. After a
  /// fatal fault: writes the failed row and stops without done. Throws WriteError.
  Health run();

 private:
  /// A flow's memory here, its parts here and stand-ins for those elsewhere; members go in reverse order, the memory last.
  struct AssembledFlow {
    std::vector<BufferPool::Lease> leases;
    std::unique_ptr<PreparedParts> local_parts;
    std::vector<std::unique_ptr<Transfer>> elsewhere;
    std::vector<Transfer*> parts;  ///< all of them, in order
  };

  Health run_case(const PlannedCase& planned);
  CaseResult measure(const Case& wanted);
  [[nodiscard]] Support supports(const Flow& flow) const;
  [[nodiscard]] Support supports(const Endpoint& where) const;
  [[nodiscard]] AssembledFlow prepare(const Flow& flow, const std::vector<FlowPart>& parts, Cache cache);
  [[nodiscard]] std::vector<LocalPart> own_parts(const Flow& flow, const std::vector<FlowPart>& parts,
                                                 Cache cache, AssembledFlow& prepared);
  void connect(const std::vector<FlowPart>& parts, AssembledFlow& prepared);
  [[nodiscard]] bool is_first() const { return consensus_.group().rank() == 0; }

  const Backend* backend_;
  const Plan* plan_;
  JsonLines* out_;
  Consensus consensus_;
  ProcessGroupGate group_gate_;
  Gate* gate_;  ///< the backend's own in a world of one
  BufferPool pool_;
  MeasurementSession session_;
};

/// Throws Error{bad_input} when `plan` names what the catalog of `backend` does not know.
void check_names(const Backend& backend, const Plan& plan);

}  // namespace linkscope
