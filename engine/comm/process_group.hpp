// ProcessGroup: the processes that carry out a plan together.
#pragma once

#include <string>
#include <vector>

#include "base/units.hpp"

namespace linkscope {

/// The subject of an exchange. All ranks must name the same: an answer to another step would be taken for one to this.
struct Step {
  std::string name;
  std::string failure;  ///< why this process could not do its part, told where the others do not come either
};

/// Every process of a run goes through the same plan, case by case, sample by sample, and decides alike because all see
/// the same figures: this is how they get them. Nothing here is inside a measured span.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// "rank 2 (host node7)", for messages.
  [[nodiscard]] virtual std::string name_of(int rank) const = 0;
  /// Every rank's word, by rank: a collective call, which also is a barrier. Any bytes. Throws Error{fatal} naming the
  /// rank that is gone, that has not come within the time limit, or that is at another step.
  virtual std::vector<std::string> allgather(const std::string& own, const Step& step = {}) = 0;
  /// Seconds to add to this process's steady clock to read rank 0's.
  [[nodiscard]] virtual Seconds clock_offset() const = 0;
  /// The error of that; 0 where both run on one host, whose clock they share. On rank 0: the most of any process.
  [[nodiscard]] virtual Seconds clock_uncertainty() const = 0;
};

/// One process.
class SingleProcess final : public ProcessGroup {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  [[nodiscard]] std::string name_of(int /*rank*/) const override { return "the one process"; }
  std::vector<std::string> allgather(const std::string& own, const Step& /*step*/ = {}) override {
    return {own};
  }
  [[nodiscard]] Seconds clock_offset() const override { return 0; }
  [[nodiscard]] Seconds clock_uncertainty() const override { return 0; }
};

}  // namespace linkscope
