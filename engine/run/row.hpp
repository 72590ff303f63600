// Rows: the records an engine prints (schema/result.schema.json).
#pragma once

#include <chrono>
#include <string>

#include "comm/cause.hpp"
#include "measure/case_measurement.hpp"
#include "model/backend.hpp"
#include "record/json_lines.hpp"

namespace linkscope {

/// What every row says whatever became of its case.
struct RowFrame {
  const std::string& id;
  const Backend& backend;
  std::chrono::system_clock::time_point started;
  Seconds elapsed = 0;
};

Json hello_record(const Backend& backend);
Json ok_row(const RowFrame& frame, const CaseResult& result);
/// Skipped where the fault is that this machine cannot do it, or has not the memory. The reason becomes one line.
Json failure_row(const RowFrame& frame, Fault fault, const std::string& reason, const Causes& causes = {});
/// What a process of several says before it leaves.
Json error_record(const Error& error);
Json description_record(const Backend& backend);

/// The engine's version, as the build says it.
std::string engine_version();

}  // namespace linkscope
