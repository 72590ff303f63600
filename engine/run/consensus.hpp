// Consensus: how the processes of a run keep in step.
#pragma once

#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/process_group.hpp"
#include "record/json_lines.hpp"

namespace linkscope {

/// Steps that every process takes, with one outcome for all. In a group of one it costs nothing.
class Consensus {
 public:
  using Place = std::source_location;
  explicit Consensus(ProcessGroup& group) : group_(&group) {}

  [[nodiscard]] ProcessGroup& group() const { return *group_; }
  /// Carries out `step` here; where it failed in any process, every process throws the Error of the one that failed
  /// first, which it names: the others may have failed for its sake. It is fatal where that is so in any. Where another
  /// process does not come, the Error{fatal} that names it names those that failed, too. A collective call, which every
  /// process makes from the same place of the code: one that is at another is out of step, an Error{fatal} as well.
  void collective_try(const std::function<void()>& step, Place place = Place::current());
  /// The same for a step with an outcome: every process's, by rank.
  std::vector<Json> allgather_json(const std::function<Json()>& step, Place place = Place::current());
  /// The same for any bytes.
  std::vector<std::string> allgather(const std::function<std::string()>& step,
                                     Place place = Place::current());

 private:
  ProcessGroup* group_;
};

}  // namespace linkscope
