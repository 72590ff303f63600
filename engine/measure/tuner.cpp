// Tries launch shapes and keeps the best.
#include "measure/tuner.hpp"

#include <algorithm>

namespace linkscope {
namespace {

constexpr int runs_per_trial = 2;

using Candidates = std::vector<std::vector<Setting>>;

bool tunable(const std::vector<Setting>& candidates) { return candidates.size() >= 2; }

/// Higher is better.
double score(const Sample& sample, const std::vector<Participant>& flows) {
  return all_bandwidth(flows) ? sample.aggregate_rate() : 1 / sample.length();
}

const Setting& candidate(const std::vector<Setting>& candidates, std::size_t trial) {
  return candidates[std::min(trial, candidates.size() - 1)];
}

void apply(const std::vector<Participant>& flows, const Candidates& candidates, std::size_t trial) {
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (!tunable(candidates[i])) continue;
    flows[i].each_part([&](Transfer& part) { part.use(candidate(candidates[i], trial)); });
  }
}

/// Outcomes of all tunable flows from the cache, or nothing where one is missing.
std::optional<std::vector<Tuned>> recall(const std::vector<Participant>& flows, const Candidates& candidates,
                                         const TuningCache& cache) {
  std::vector<Tuned> outcomes(flows.size());
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (!tunable(candidates[i])) continue;
    const auto known = cache.find(flows[i].tuning_group, candidates[i]);
    if (!known) return std::nullopt;
    outcomes[i] = *known;
  }
  return outcomes;
}

/// Repeats that fill `target` with the first candidates.
Repeats first_repeats(Sampler& sampler, Seconds target) {
  const Sample cold = sampler.take(sampler.ones());
  const Sample warm = sampler.take(sampler.repeats_for(cold, target));
  return sampler.repeats_for(warm, target);
}

/// Runs every trial; returns the index of the best and notes each flow's rates in `outcomes`.
std::size_t run_trials(Sampler& sampler, const std::vector<Participant>& flows, const Candidates& candidates,
                       Seconds target, std::vector<Tuned>& outcomes) {
  std::size_t trials = 0;
  for (const auto& list : candidates) trials = std::max(trials, list.size());
  apply(flows, candidates, 0);
  const Repeats repeats = first_repeats(sampler, target);
  std::size_t best = 0;
  double best_score = 0;
  for (std::size_t trial = 0; trial < trials; ++trial) {
    apply(flows, candidates, trial);
    static_cast<void>(sampler.take(sampler.ones()));
    std::vector<Sample> runs;
    for (int run = 0; run < runs_per_trial; ++run) runs.push_back(sampler.take(repeats));
    const auto& better = *std::max_element(runs.begin(), runs.end(), [&](const Sample& a, const Sample& b) {
      return score(a, flows) < score(b, flows);
    });
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (tunable(candidates[i]) && trial < candidates[i].size()) {
        outcomes[i].tried.push_back({candidates[i][trial], better.rate(i)});
      }
    }
    if (score(better, flows) > best_score) {
      best = trial;
      best_score = score(better, flows);
    }
  }
  return best;
}

}  // namespace

std::optional<Tuned> TuningCache::find(const std::string& group,
                                       const std::vector<Setting>& candidates) const {
  const auto found = outcomes_.find(group);
  if (found == outcomes_.end()) return std::nullopt;
  const bool offered =
      std::find(candidates.begin(), candidates.end(), found->second.chosen) != candidates.end();
  return offered ? std::optional(found->second) : std::nullopt;
}

void TuningCache::keep(const std::string& group, const Tuned& outcome) {
  if (!group.empty()) outcomes_[group] = outcome;
}

std::vector<Tuned> tune(Sampler& sampler, const std::vector<Participant>& flows, Seconds target,
                        TuningCache& cache) {
  Candidates candidates;
  for (const Participant& flow : flows) candidates.push_back(flow.transfer->candidates());
  if (std::none_of(candidates.begin(), candidates.end(), tunable)) return std::vector<Tuned>(flows.size());
  if (auto known = recall(flows, candidates, cache)) {
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (!tunable(candidates[i])) continue;
      flows[i].each_part([&](Transfer& part) { part.use((*known)[i].chosen); });
    }
    return *std::move(known);
  }
  std::vector<Tuned> outcomes(flows.size());
  const std::size_t best = run_trials(sampler, flows, candidates, target, outcomes);
  apply(flows, candidates, best);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (!tunable(candidates[i])) continue;
    outcomes[i].chosen = candidate(candidates[i], best);
    cache.keep(flows[i].tuning_group, outcomes[i]);
  }
  return outcomes;
}

}  // namespace linkscope
