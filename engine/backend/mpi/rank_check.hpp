// Rank check: the processes of a run tell one another how MPI sees them, before they count on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace linkscope::mpi {

/// One process's word.
struct RankEntry {
  int rank = 0;             ///< of MPI's world
  int size = 1;             ///< of MPI's world
  std::uint64_t slots = 0;  ///< of its arenas; 0: it has none

  [[nodiscard]] std::string told() const;
  /// Throws Error{broken} for anything but told() gives.
  static RankEntry understood(const std::string& word);
};

/// Throws Error{unsupported} unless MPI's ranks are those of the run, by rank: MPI_Init in processes that its launcher
/// did not start makes each a world of its own.
void require_one_world(const std::vector<RankEntry>& all);

/// Slots that every process with memory has: machines with other caches have other numbers. 1 where none has any.
[[nodiscard]] std::uint64_t slots_of_all(const std::vector<RankEntry>& all);

}  // namespace linkscope::mpi
