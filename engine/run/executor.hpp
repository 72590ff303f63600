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
#include "run/environment.hpp"
#include "run/plan.hpp"

namespace linkscope {

/// Whether the engine can take the next case.
enum class Health { sound, lost };

class Executor {
 public:
  /// All references outlive the executor. Throws Error{bad_input} when the plan names a method, a memory or a
  /// parameter that the catalog does not know: nothing has run then.
  Executor(const Backend& backend, const Plan& plan, const Environment& environment, JsonLines& out);

  /// Writes hello, a start and a row per case, and done. After a fatal fault: writes the failed row and stops
  /// without done. Throws WriteError.
  Health run();

 private:
  /// A flow's memory and transfer; members go in reverse order, the transfer first.
  struct PreparedFlow {
    std::vector<BufferPool::Lease> leases;
    std::unique_ptr<Transfer> transfer;
  };

  Health run_case(const PlannedCase& planned);
  CaseResult measure(const Case& wanted);
  [[nodiscard]] Support supports(const Flow& flow) const;
  [[nodiscard]] Support supports(const Endpoint& where) const;
  [[nodiscard]] PreparedFlow prepare(const Flow& flow, Cache cache);

  const Backend* backend_;
  const Plan* plan_;
  JsonLines* out_;
  BufferPool pool_;
  Session session_;
};

/// Throws Error{bad_input} when `plan` names what the catalog of `backend` does not know.
void check_names(const Backend& backend, const Plan& plan);

}  // namespace linkscope
