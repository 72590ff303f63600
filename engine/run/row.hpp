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

enum class FailureKind { skipped, failed };

Json hello_record(const Backend& backend);
Json start_record(const std::string& id);
Json ok_row(const RowFrame& frame, const CaseResult& result);
/// The reason becomes one line.
Json failure_row(const RowFrame& frame, FailureKind failure, const std::string& reason,
                 const Causes& causes = {});
/// What a process of several says before it leaves.
Json error_record(const Error& error);
/// What it says when it could not do its part of a step.
Json step_failure_record(const std::string& reason);
Json end_record(const std::string& id);
Json done_record(std::size_t rows);
Json description_record(const Backend& backend);

/// The engine's version, as the build says it.
std::string engine_version();

}  // namespace linkscope
