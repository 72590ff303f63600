// Tuner: a short pass over the launch shapes that flows offer; its outcome stands in the row.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "measure/measured_flow.hpp"
#include "measure/sampler.hpp"
#include "model/transfer.hpp"

namespace linkscope {

/// One launch shape and the rate a flow reached with it while all flows of the case used theirs.
struct TriedSetting {
  Setting setting;
  double gbps = 0;
};

/// A flow's shape and how it was found; `tried` is empty where there was nothing to tune.
struct Tuned {
  Setting chosen;
  std::vector<TriedSetting> tried;
  std::vector<std::string> discarded;  ///< shapes that had a fault, each with what it was
};

/// Calls `say` in every process of a run and gives each of them all words, by rank. Where it threw anywhere, all throw
/// that.
using Poll = std::function<std::vector<std::string>(const std::function<std::string()>& say)>;

/// The poll of a process that is alone.
inline std::vector<std::string> own_word(const std::function<std::string()>& say) { return {say()}; }

/// Outcomes of tuning passes by group, so that cases of one group tune once. An empty group is nobody's.
using TuningCache = std::map<std::string, Tuned>;

/// Gives every flow that has several candidates the best of them, and returns an outcome per flow.
/// Trial c runs all flows of the case at once, each with its c-th candidate: one warm-up, then two runs of
/// which the better counts. Best is the highest aggregate rate (bandwidths) or the shortest time (else).
/// A trial in which any part, in any process, has a fault (Transfer::fault) is discarded, however fast: its starts may
/// have left destinations half done. Throws Error{mismatch} where none is left, and what fault() throws. Where every
/// such flow finds its group in `cache`, nothing runs.
std::vector<Tuned> tune(Sampler& sampler, const std::vector<MeasuredFlow>& flows, Seconds target,
                        TuningCache& cache, const Poll& poll = own_word);

}  // namespace linkscope
