// Tries launch shapes and keeps the best.
#include "measure/tuner.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"

namespace linkscope {
namespace {

constexpr int runs_per_trial = 2;

using Candidates = std::vector<std::vector<Setting>>;

bool tunable(const std::vector<Setting>& candidates) { return candidates.size() >= 2; }

/// Higher is better.
double score(const Sample& sample, const std::vector<MeasuredFlow>& flows) {
  return all_bandwidth(flows) ? sample.aggregate_rate() : 1 / sample.length();
}

const Setting& candidate(const std::vector<Setting>& candidates, std::size_t trial) {
  return candidates[std::min(trial, candidates.size() - 1)];
}

void apply(const std::vector<MeasuredFlow>& flows, const Candidates& candidates, std::size_t trial) {
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (!tunable(candidates[i])) continue;
    flows[i].each_part([&](Transfer& part) { part.use(candidate(candidates[i], trial)); });
  }
}

/// Outcomes of all tunable flows from the cache, or nothing where one is missing.
std::optional<std::vector<Tuned>> recall(const std::vector<MeasuredFlow>& flows, const Candidates& candidates,
                                         const TuningCache& cache) {
  std::vector<Tuned> outcomes(flows.size());
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (!tunable(candidates[i])) continue;
    const std::string& group = flows[i].tuning_group;
    const auto known = cache.find(group);
    if (group.empty() || known == cache.end()) return std::nullopt;
    outcomes[i] = known->second;
    const auto& offered = candidates[i];
    if (std::find(offered.begin(), offered.end(), outcomes[i].chosen) == offered.end()) return std::nullopt;
  }
  return outcomes;
}

/// Repeats that fill `target` with the first candidates.
Repeats first_repeats(Sampler& sampler, Seconds target) {
  const Sample cold = sampler.take(sampler.ones());
  const Sample warm = sampler.take(sampler.repeats_for(cold, target));
  return sampler.repeats_for(warm, target);
}

/// Says what is wrong with the candidates in use, the same in every process; empty where nothing is.
std::string fault_in(const std::vector<MeasuredFlow>& flows, const Poll& poll) {
  const std::vector<std::string> words = poll([&] {
    std::string own;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      flows[i].each_part([&](const Transfer& part) {
        const auto fault = part.fault();
        if (fault && own.empty()) own = place_of(flows, i) + fault->what;
      });
    }
    return own;
  });
  const auto said =
      std::find_if(words.begin(), words.end(), [](const std::string& word) { return !word.empty(); });
  return said == words.end() ? std::string() : *said;
}

/// "blocks 64, threads 512".
std::string text_of(const Setting& setting) {
  std::string text;
  for (const auto& [name, value] : setting)
    text += (text.empty() ? "" : ", ") + name + " " + std::to_string(value);
  return text;
}

/// The better of the runs that count.
Sample better_run(Sampler& sampler, const std::vector<MeasuredFlow>& flows, const Repeats& repeats) {
  static_cast<void>(sampler.take(sampler.ones()));
  std::vector<Sample> runs;
  for (int run = 0; run < runs_per_trial; ++run) runs.push_back(sampler.take(repeats));
  return *std::max_element(runs.begin(), runs.end(), [&](const Sample& a, const Sample& b) {
    return score(a, flows) < score(b, flows);
  });
}

/// Runs every trial; returns the index of the best and notes in `outcomes` each flow's rates, and what was discarded.
std::size_t run_trials(Sampler& sampler, const std::vector<MeasuredFlow>& flows, const Candidates& candidates,
                       Seconds target, const Poll& poll, std::vector<Tuned>& outcomes) {
  std::size_t trials = 0;
  for (const auto& list : candidates) trials = std::max(trials, list.size());
  std::optional<Repeats> repeats;  // from the first candidates without a fault
  std::optional<std::size_t> best;
  double best_score = 0;
  std::string first_fault;
  for (std::size_t trial = 0; trial < trials; ++trial) {
    const auto each_tried = [&](const auto& note) {
      for (std::size_t i = 0; i < flows.size(); ++i) {
        if (tunable(candidates[i]) && trial < candidates[i].size()) note(i, candidates[i][trial]);
      }
    };
    apply(flows, candidates, trial);
    const Repeats wanted = repeats ? *repeats : first_repeats(sampler, target);
    const Sample better = better_run(sampler, flows, wanted);
    if (const std::string fault = fault_in(flows, poll); !fault.empty()) {
      if (first_fault.empty()) first_fault = fault;
      each_tried([&](std::size_t i, const Setting& setting) {
        outcomes[i].discarded.push_back("discarded in tuning: " + text_of(setting) + ": " + fault);
      });
      continue;
    }
    repeats = wanted;
    each_tried([&](std::size_t i, const Setting& setting) {
      outcomes[i].tried.push_back({setting, better.rate(i)});
    });
    if (!best || score(better, flows) > best_score) {
      best = trial;
      best_score = score(better, flows);
    }
  }
  if (best) return *best;
  throw Error(Fault::mismatch, "no launch shape could be used, beginning with the first: " + first_fault);
}

}  // namespace

std::vector<Tuned> tune(Sampler& sampler, const std::vector<MeasuredFlow>& flows, Seconds target,
                        TuningCache& cache, const Poll& poll) {
  Candidates candidates;
  for (const MeasuredFlow& flow : flows) candidates.push_back(flow.facts().candidates);
  if (std::none_of(candidates.begin(), candidates.end(), tunable)) return std::vector<Tuned>(flows.size());
  std::optional<std::vector<Tuned>> outcomes = recall(flows, candidates, cache);
  if (!outcomes) {
    outcomes.emplace(flows.size());
    const std::size_t best = run_trials(sampler, flows, candidates, target, poll, *outcomes);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (!tunable(candidates[i])) continue;
      (*outcomes)[i].chosen = candidate(candidates[i], best);
      cache[flows[i].tuning_group] = (*outcomes)[i];
    }
  }
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (!tunable(candidates[i])) continue;
    flows[i].each_part([&](Transfer& part) { part.use((*outcomes)[i].chosen); });
  }
  return *std::move(outcomes);
}

}  // namespace linkscope
