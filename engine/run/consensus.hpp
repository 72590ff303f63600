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
  /// Carries out `step` here; where it failed in any process, every process throws the Error of the one that failed first,
  /// which it names: the others may have failed for its sake. It is fatal where that is so in any. Where another process does
  /// not come, the Error{fatal} that names it names those that failed, too. A collective call.
  void together(const std::function<void()>& step);
  /// The same for a step with an outcome: every process's, by rank.
  std::vector<Json> outcomes(const std::function<Json()>& step);
  /// The same for any bytes.
  std::vector<std::string> words(const std::function<std::string()>& step);

 private:
  World* world_;
};

}  // namespace linkscope
