// The clocks of two processes: whether they are one, and what is between them.
#pragma once

#include <functional>

#include "base/units.hpp"
#include "comm/channel.hpp"

namespace linkscope {

/// Reads a clock, in seconds.
using ReadClock = std::function<Seconds()>;

/// What to add to one clock to read another, and how far that can be off.
struct ClockOffset {
  Seconds seconds = 0;
  Seconds uncertainty = 0;
};

/// Whether two clocks may be one and the same, by what their processes say of them.
enum class Sharing { possible, excluded };

/// Asks the other end for its time over and over. Its answer was given some time within the round trip, so the shortest
/// one tells it best: it is in the middle, give or take half. Where the clocks may be one, and the answers do not
/// contradict that, offset and uncertainty are 0.
[[nodiscard]] Outcome ask_clock(Channel& channel, const ReadClock& own, Sharing sharing, Deadline deadline,
                                ClockOffset& offset);

/// The other end of ask_clock(). `uncertainty`: what the one who asks has found.
[[nodiscard]] Outcome answer_clock(Channel& channel, const ReadClock& own, Deadline deadline,
                                   Seconds& uncertainty);

}  // namespace linkscope
