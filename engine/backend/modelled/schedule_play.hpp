// SchedulePlay: a schedule on the virtual clock, phase by phase.
#pragma once

#include <vector>

#include "backend/modelled/schedule_costs.hpp"
#include "model/transfer.hpp"

namespace linkscope::modelled {

/// What each rank's time went for; all ranks take equally long, because a phase ends when all have done their part.
///
/// The model: in a phase all ranks begin at once. A rank packs all its messages (and copies their buffers to the host,
/// where they are staged), then sends them; messages share links and memories max-min fairly. Once all that a rank sent
/// and expects has arrived it (copies back and) unpacks. Packs share memories and links with one another, but not with
/// messages. Then the phase's collectives follow, one after another. What an application computes or allocates takes
/// no time.
std::vector<Breakdown> play_schedule(const ScheduleCosts& costs, const Schedule& schedule,
                                     const std::vector<double>& capacities);

}  // namespace linkscope::modelled
