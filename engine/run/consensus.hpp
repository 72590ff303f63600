// Consensus: how the processes of a run keep in step.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/process_group.hpp"
#include "record/json_lines.hpp"

namespace linkscope {

/// Steps that every process takes, with one outcome for all. In a group of one it costs nothing.
class Consensus {
 public:
  explicit Consensus(ProcessGroup& group) : group_(&group) {}

  [[nodiscard]] ProcessGroup& group() const { return *group_; }
  /// Carries out `step` here; where it failed in any process, every process throws the Error of the one that failed
  /// first, which it names: the others may have failed for its sake. It is fatal where that is so in any. Where another
  /// process does not come, the Error{fatal} that names it names those that failed, too. A collective call.
  void collective_try(const std::function<void()>& step);
  /// The same for a step with an outcome: every process's, by rank.
  std::vector<Json> allgather_json(const std::function<Json()>& step);
  /// The same for any bytes.
  std::vector<std::string> allgather(const std::function<std::string()>& step);

 private:
  ProcessGroup* group_;
};

}  // namespace linkscope
