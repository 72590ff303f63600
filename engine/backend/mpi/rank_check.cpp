#include "backend/mpi/rank_check.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/error.hpp"

namespace linkscope::mpi {

std::string RankEntry::told() const {
  return std::to_string(rank) + " " + std::to_string(size) + " " + std::to_string(slots);
}

RankEntry RankEntry::understood(const std::string& word) {
  std::istringstream in(word);
  RankEntry presence;
  in >> presence.rank >> presence.size >> presence.slots;
  if (!in)
    throw Error(Fault::broken, "a process told '" + word + "' where its place in MPI's world was asked");
  return presence;
}

void require_one_world(const std::vector<RankEntry>& all) {
  const std::string processes = std::to_string(all.size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const RankEntry& there = all[rank];
    const std::string who = "rank " + std::to_string(rank) + " of " + processes;
    if (there.size == 1 && all.size() > 1) {
      throw Error(Fault::unsupported,
                  who +
                      " is alone in MPI's world: it was started by no MPI launcher, or by that of "
                      "another MPI than the one it loaded");
    }
    if (std::cmp_not_equal(there.rank, rank) || std::cmp_not_equal(there.size, all.size())) {
      throw Error(Fault::unsupported, who + " is rank " + std::to_string(there.rank) + " of " +
                                          std::to_string(there.size) + " to MPI");
    }
  }
}

std::uint64_t slots_of_all(const std::vector<RankEntry>& all) {
  std::uint64_t fewest = 0;
  for (const RankEntry& there : all) {
    if (there.slots > 0) fewest = fewest == 0 ? there.slots : std::min(fewest, there.slots);
  }
  return std::max<std::uint64_t>(fewest, 1);
}

}  // namespace linkscope::mpi
