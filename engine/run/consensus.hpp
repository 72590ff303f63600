// Consensus: how the processes of a run keep in step.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/world.hpp"
#include "record/json_lines.hpp"

namespace linkscope {

/// Steps that every process takes, with one outcome for all. In a world of one it costs nothing.
class Consensus {
 public:
  explicit Consensus(World& world) : world_(&world) {}

  [[nodiscard]] World& world() const { return *world_; }
  /// Carries out `step` here; where it failed in any process, every process throws the Error of the lowest rank that
  /// failed, which it names. A collective call. Where another process does not come, the Error{fatal} that names it names
  /// those that failed, too.
  void together(const std::function<void()>& step);
  /// The same for a step with an outcome: every process's, by rank.
  std::vector<Json> outcomes(const std::function<Json()>& step);
  /// The same for any bytes.
  std::vector<std::string> words(const std::function<std::string()>& step);

 private:
  World* world_;
};

}  // namespace linkscope
