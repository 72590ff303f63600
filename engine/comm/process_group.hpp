// ProcessGroup: the processes that carry out a plan together, and how they keep in step.
#pragma once

#include <functional>
#include <source_location>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "record/json_lines.hpp"

namespace linkscope {

/// The subject of an exchange. All ranks must name the same: an answer to another step would be taken for one to this.
struct Step {
  std::string name;
  std::string failure;  ///< why this process could not do its part, told where the others do not come either
};

/// Every process of a run goes through the same plan, case by case, sample by sample, and decides alike because all see
/// the same figures: this is how they get them. Nothing here is inside a measured span. By itself it is a group of one
/// process, in which that costs nothing.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  [[nodiscard]] virtual int rank() const { return 0; }
  [[nodiscard]] virtual int size() const { return 1; }
  /// "rank 2 (host node7)", for messages.
  [[nodiscard]] virtual std::string name_of(int /*rank*/) const { return "the one process"; }
  /// Every rank's word, by rank: a collective call, which also is a barrier. Any bytes. Throws Error{fatal} naming the
  /// rank that is gone, that has not come within the time limit, or that is at another step.
  virtual std::vector<std::string> allgather(const std::string& own, const Step& /*step*/ = {}) {
    return {own};
  }
  /// Seconds to add to this process's steady clock to read rank 0's.
  [[nodiscard]] virtual Seconds clock_offset() const { return 0; }
  /// The error of that; 0 where both run on one host, whose clock they share. On rank 0: the most of any process.
  [[nodiscard]] virtual Seconds clock_uncertainty() const { return 0; }

  using Place = std::source_location;
  /// Carries out `step` here; where it failed in any process, every process throws the Error of the one that failed
  /// first, which it names: the others may have failed for its sake. It is fatal where that is so in any. Where another
  /// process does not come, the Error{fatal} that names it names those that failed, too. A collective call, which every
  /// process makes from the same place of the code: one that is at another is out of step, an Error{fatal} as well.
  void collective_try(const std::function<void()>& step, Place place = Place::current());
  /// The same for a step with an outcome: every process's, by rank.
  std::vector<Json> allgather_json(const std::function<Json()>& step, Place place = Place::current());
  /// The same for any bytes.
  std::vector<std::string> allgather_words(const std::function<std::string()>& step,
                                           Place place = Place::current());
};

}  // namespace linkscope
