// ScheduleFigures: what the steps of a schedule cost and reach on a described node, as its plan says.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "model/device.hpp"
#include "model/method_figures.hpp"

namespace linkscope {

/// Figures for steps of [from, below) bytes between pairs of ranks; of what a rank does by itself, with itself.
struct StepFigures {
  std::vector<std::pair<int, int>> pairs;
  Bytes from = 0;
  Bytes below = std::numeric_limits<Bytes>::max();
  MethodFigures figures;
};

/// The first that fits counts. A step without figures cannot run; a message takes those of its flow then.
struct ScheduleFigures {
  std::vector<StepFigures> messages;
  std::vector<StepFigures> packs;                    ///< and unpacks
  std::vector<StepFigures> copies_out;               ///< of host staging: from a rank's buffers
  std::vector<StepFigures> copies_in;                ///< into them
  std::vector<DeviceId> staged_on;                   ///< by rank: the host memory that is staged in
  std::map<std::string, MethodFigures> collectives;  ///< all-reduce, barrier
};

}  // namespace linkscope
