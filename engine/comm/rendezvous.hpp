// Rendezvous: rank 0 waits for everybody else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comm/cause.hpp"
#include "comm/channel.hpp"
#include "comm/handshake.hpp"
#include "comm/socket.hpp"

namespace linkscope {

/// The processes that have come.
struct Arrivals {
  std::vector<Channel> channels;   ///< of ranks 1, 2, ...; closed ones for who is missing
  std::vector<std::string> hosts;  ///< by rank; empty for who is missing
  std::vector<int> missing;
  std::optional<int> lost;  ///< the rank that had come and is gone
  Causes disagreements;     ///< the first that was noticed; empty where the processes agree
};

/// Lets in processes that know the run's secret, in any order. Strangers neither hold it up nor count. `own` is rank
/// 0's handshake, which others are compared with. Returns when all have come, when one that had come is gone, soon
/// after a disagreement, or at the deadline.
[[nodiscard]] Arrivals await_arrivals(Listener& listener, const Handshake& own, Deadline deadline);

}  // namespace linkscope
