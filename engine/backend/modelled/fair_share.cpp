// Progressive filling: all rates rise together; a flow that meets a full resource or its own ceiling stays there.
#include "backend/modelled/fair_share.hpp"

#include <algorithm>
#include <cstddef>

namespace linkscope::modelled {
namespace {

constexpr double slack = 1e-12;  // relative: what rounding may leave of a full resource

class Filling {
 public:
  Filling(const std::vector<const BandwidthDemand*>& demands, const std::vector<double>& capacities)
      : demands_(demands),
        left_(capacities),
        rising_weight_(capacities.size(), 0.0),
        rates_(demands.size(), 0.0) {
    for (std::size_t i = 0; i < demands_.size(); ++i) {
      rising_.push_back(i);
      for (const Use& use : demands_[i]->uses) rising_weight_[use.resource] += use.weight;
    }
  }

  std::vector<double> run() {
    while (!rising_.empty()) {
      const double level = next_level();
      std::vector<std::size_t> still;
      std::vector<std::size_t> settled;
      for (const std::size_t i : rising_) (binds(i, level) ? settled : still).push_back(i);
      for (const std::size_t i : settled) settle(i, level);
      rising_ = std::move(still);
    }
    return std::move(rates_);
  }

 private:
  /// The rate at which the resource fills up if all that rise stop there.
  [[nodiscard]] double full_at(Resource resource) const {
    return std::max(left_[resource], 0.0) / rising_weight_[resource];
  }

  /// The lowest common rate at which anything binds.
  [[nodiscard]] double next_level() const {
    double level = unlimited;
    for (const std::size_t i : rising_) {
      level = std::min(level, demands_[i]->ceiling);
      for (const Use& use : demands_[i]->uses) level = std::min(level, full_at(use.resource));
    }
    return level;
  }

  [[nodiscard]] bool binds(std::size_t i, double level) const {
    const double limit = level * (1 + slack);
    const auto full = [&](const Use& use) { return full_at(use.resource) <= limit; };
    return demands_[i]->ceiling <= limit || level == unlimited ||
           std::any_of(demands_[i]->uses.begin(), demands_[i]->uses.end(), full);
  }

  void settle(std::size_t i, double rate) {
    rates_[i] = rate;
    for (const Use& use : demands_[i]->uses) {
      rising_weight_[use.resource] -= use.weight;
      if (rate != unlimited) left_[use.resource] -= rate * use.weight;
    }
  }

  const std::vector<const BandwidthDemand*>& demands_;
  std::vector<double> left_;           ///< capacity that settled flows leave
  std::vector<double> rising_weight_;  ///< weights of the flows that still rise, per resource
  std::vector<std::size_t> rising_;
  std::vector<double> rates_;
};

}  // namespace

std::vector<double> fair_rates(const std::vector<const BandwidthDemand*>& demands,
                               const std::vector<double>& capacities) {
  return Filling(demands, capacities).run();
}

}  // namespace linkscope::modelled
