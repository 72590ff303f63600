// Works out repeats from the flows' rate estimates.
#include "measure/batch.hpp"

#include <algorithm>
#include <cmath>

namespace linkscope {
namespace {

constexpr double most_repeats = 1U << 22U;
constexpr double alike = 0.8;               // times within 20 % of the slowest
constexpr double accepted_imbalance = 0.1;  // imbalance that whole repeats may leave
constexpr double background_margin = 1.3;
constexpr Seconds shortest = 1e-10;   // a clock may read zero
constexpr double mostly_start = 0.5;  // a transfer's share of its start's time below which the start decides
constexpr double most_growth =
    8;  // of repeats, by the difference of two starts, which one late thread can spoil

/// The next whole number, with a clock's rounding forgiven: ten of 10 us do fill 100 us.
double whole_up(double count) { return std::ceil(count * (1 - 1e-6)); }

double clamp_repeats(double repeats) { return std::clamp(repeats, 1.0, most_repeats); }

/// Tells whether all measured flows are of one group. Kernels on one GPU that wait for one another look unequal.
bool of_one_group(const std::vector<RateEstimate>& estimates) {
  const auto is_measured = [](const RateEstimate& one) { return one.role == Role::measured; };
  const auto first = std::find_if(estimates.begin(), estimates.end(), is_measured);
  return !first->group.empty() && std::all_of(first, estimates.end(), [&](const RateEstimate& one) {
    return !is_measured(one) || one.group == first->group;
  });
}

/// Largest relative difference of a flow's total time from the slowest flow's when that repeats `base` times.
double imbalance(const std::vector<Seconds>& times, Seconds slowest, double base) {
  double worst = 0;
  for (const Seconds time : times) {
    const double ideal = base * slowest / time;
    worst = std::max(worst, std::abs(clamp_repeats(std::round(ideal)) / ideal - 1));
  }
  return worst;
}

/// Repeats of the slowest flow, at least `least`, for which whole numbers balance the others best.
double balanced_base(const std::vector<Seconds>& times, Seconds slowest, double least) {
  double best = least;
  double best_imbalance = imbalance(times, slowest, least);
  const auto further = static_cast<std::uint64_t>(3 * least);
  for (std::uint64_t more = 1; best_imbalance > accepted_imbalance && more <= further; ++more) {
    const double base = least + static_cast<double>(more);
    const double candidate = imbalance(times, slowest, base);
    if (candidate < best_imbalance) {
      best = base;
      best_imbalance = candidate;
    }
  }
  return best;
}

/// The longest sample that every flow can fill, all running at their own rate.
Seconds longest_possible(const std::vector<RateEstimate>& estimates) {
  Seconds longest = std::numeric_limits<Seconds>::infinity();
  for (const RateEstimate& one : estimates) {
    const double margin = one.role == Role::background ? background_margin : 1.0;
    const Seconds full = static_cast<double>(one.max_repeats) * std::max(one.per_transfer, shortest);
    longest = std::min(longest, full / margin);
  }
  return longest;
}

void equalise_groups(std::vector<RateEstimate>& estimates) {
  for (RateEstimate& one : estimates) {
    for (const RateEstimate& other : estimates) {
      if (!one.same_group(other)) continue;
      one.per_transfer = std::max(one.per_transfer, other.per_transfer);
      one.max_repeats = std::min(one.max_repeats, other.max_repeats);
    }
  }
}

}  // namespace

Seconds per_transfer_of(const TimedRepeats& last, const std::optional<TimedRepeats>& before) {
  const auto simple = [](const TimedRepeats& start) {
    return start.length / static_cast<double>(start.repeats);
  };
  if (!before || before->repeats == last.repeats) return simple(last);
  const auto [few, many] =
      last.repeats < before->repeats ? std::pair(last, *before) : std::pair(*before, last);
  if (many.length < few.length / 2) return simple(many);  // what was slow was that one start
  const double slope = (many.length - few.length) / static_cast<double>(many.repeats - few.repeats);
  if (slope > mostly_start * simple(last)) return simple(last);
  return std::max(slope, simple(last) / most_growth);
}

Repeats plan_repeats(std::vector<RateEstimate> estimates, Seconds target) {
  equalise_groups(estimates);
  std::vector<Seconds> measured;
  for (const RateEstimate& one : estimates) {
    if (one.role == Role::measured) measured.push_back(std::max(one.per_transfer, shortest));
  }
  const auto [fastest, slowest] = std::minmax_element(measured.begin(), measured.end());
  const bool equal = of_one_group(estimates) || *fastest >= alike * *slowest;
  const double least = clamp_repeats(whole_up(target / *slowest));
  const double wanted = equal ? least : balanced_base(measured, *slowest, least);
  const double base = std::max(1.0, std::min(wanted, std::floor(longest_possible(estimates) / *slowest)));
  const Seconds length = base * *slowest;

  Repeats repeats;
  for (const RateEstimate& one : estimates) {
    const Seconds time = std::max(one.per_transfer, shortest);
    double count = equal ? base : std::round(length / time);
    if (one.role == Role::background) count = whole_up(background_margin * length / time);
    repeats.push_back(std::min(static_cast<std::uint64_t>(clamp_repeats(count)), one.max_repeats));
  }
  return repeats;
}

}  // namespace linkscope
