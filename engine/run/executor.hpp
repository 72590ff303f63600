// Executor: runs a plan's cases one by one and writes a row for each.
#pragma once

#include <exception>
#include <vector>

#include "comm/process_group.hpp"
#include "measure/case_measurement.hpp"
#include "model/backend.hpp"
#include "record/json_lines.hpp"
#include "run/assembled_flow.hpp"
#include "run/binding.hpp"
#include "run/buffer_pool.hpp"
#include "run/environment.hpp"
#include "run/plan.hpp"
#include "run/process_group_gate.hpp"

namespace linkscope {

/// Whether the engine can take the next case.
enum class Health { sound, lost };

class Executor {
 public:
  /// All references outlive the executor. Every process of `group` runs the same plan. Binds the
  /// plan (bind_names()); throws Error{bad_input} where it names what the catalog does not know: nothing has run then.
  Executor(const Backend& backend, Plan& plan, const Environment& environment, ProcessGroup& group,
           JsonLines& out);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Writes hello, a start and a row per case, and done; a process other than rank 0 says `end` in a row's place. After
  /// a fatal fault: writes the failed row and stops without done. Throws WriteError.
  Health run();

 private:
  Health run_case(const Case& wanted);
  [[nodiscard]] bool can_go_on(const std::exception& error) const;
  CaseResult measure(const Case& wanted);
  std::vector<Breakdown> breakdown_of(const AssembledFlow& flow);

  const Backend* backend_;
  JsonLines* out_;
  const std::vector<Case>* cases_;
  ProcessGroup* group_;
  ProcessGroupGate group_gate_;
  Gate* gate_;  ///< the backend's own in a group of one
  BufferPool pool_;
  MeasurementSession session_;
};

}  // namespace linkscope
