// When enough samples have been taken, and why.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace linkscope {

/// The options of sampling that a plan sets (plan.schema.json).
struct SamplingOptions {
  double precision = 0.01;  ///< asked distance of the 95 % interval's farther end from the median, relative
  std::size_t max_samples = 500;
  std::size_t fewest_in_budget = 3;  ///< taken however long they last
  Seconds point_budget_s = 2.0;      ///< wall time of the sampling, after the warm-up
  Seconds min_sample_s = 0.0001;     ///< a sample repeats its transfer until it lasts this long
};

enum class Stop { precision, budget, samples };

/// Watches the stopping metric. Precision counts as reached only when the interval is narrow enough AND the
/// later half of the samples has the same median as the earlier half to within the asked precision: an
/// interval of order statistics believes that samples are independent, and a drift would make it narrower
/// than the truth.
class StoppingRule {
 public:
  explicit StoppingRule(const SamplingOptions& options) : options_(options) {}

  void add(double value);
  /// Returns why to stop now, if at all. `spent` is the sampling's wall time so far.
  [[nodiscard]] std::optional<Stop> decide(Seconds spent) const;
  /// Median of the later half over the median of the earlier half, less one.
  [[nodiscard]] double drift() const;
  /// Remarks on how far the interval can be trusted; empty when it can.
  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  [[nodiscard]] bool precise() const;

  SamplingOptions options_;
  std::vector<double> in_order_;
  std::vector<double> ascending_;
};

/// Decides for several figures watched together: nothing as long as one of them wants more samples; precision only
/// where all have it. Throws nothing; `rules` holds at least one.
std::optional<Stop> decide(const std::vector<StoppingRule>& rules, Seconds spent);

}  // namespace linkscope
