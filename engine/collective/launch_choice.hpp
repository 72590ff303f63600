// Algorithm: the ways in which a collective can be carried out by kernels that reach one another's memory. LaunchChoice:
// an algorithm and how it is launched; which are worth measuring on members' GPUs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collective/direct_options.hpp"
#include "collective/kernels/kernels.hpp"
#include "model/collective.hpp"
#include "model/flow.hpp"
#include "model/transfer.hpp"

namespace linkscope::direct {

/// The numbers stand in rows (setting `algorithm`) and do not change. one-shot: every byte goes straight to the member
/// that needs it; two-shot: by way of the member that sums up, or spreads, that share. Plain ones load from and store
/// to the members' buffers between two barriers; ll and ll128 send packets that carry their own flags (Format); push
/// stores chunks, and flags after them, and loads nothing from other members; ring: chunks go from member to member, by
/// stores to the next one alone.
enum class Algorithm {
  one_shot = 0,
  two_shot = 1,
  one_shot_ll = 2,
  two_shot_ll = 3,
  one_shot_ll128 = 4,
  two_shot_ll128 = 5,
  two_shot_push = 6,
  ring = 7,
};

/// Which kernels carry it out.
enum class Family { peers, packets, pushes, rings };

struct AlgorithmRow {
  Algorithm algorithm;
  Family family;
  // NOLINTNEXTLINE(readability-redundant-member-init): lets initialisers leave it out
  std::optional<Format> format = {};  ///< of packets
  Trips trips = Trips::one;
  Division division = Division::one_shot;  ///< of peers
};

/// In the order of their numbers.
inline constexpr AlgorithmRow all_algorithms[] = {
    {Algorithm::one_shot, Family::peers},
    {Algorithm::two_shot, Family::peers, {}, Trips::one, Division::two_shot},
    {Algorithm::one_shot_ll, Family::packets, Format::pairs},
    {Algorithm::two_shot_ll, Family::packets, Format::pairs, Trips::two},
    {Algorithm::one_shot_ll128, Family::packets, Format::lines},
    {Algorithm::two_shot_ll128, Family::packets, Format::lines, Trips::two},
    {Algorithm::two_shot_push, Family::pushes},
    {Algorithm::ring, Family::rings}};

constexpr const AlgorithmRow& row_of(Algorithm algorithm) {
  return all_algorithms[static_cast<std::size_t>(algorithm)];
}

/// "two-shot-ll128".
constexpr std::string_view name_of(Algorithm algorithm) {
  return parameter::algorithm.word_at(static_cast<std::size_t>(algorithm) + 1);
}
/// The algorithm that a plan names; nothing for "auto".
inline std::optional<Algorithm> named_algorithm(const Parameters& parameters) {
  const int word = parameters.choice<int>(parameter::algorithm);
  return word == 0 ? std::nullopt : std::optional(static_cast<Algorithm>(word - 1));
}

/// Returns why that collective has no such algorithm, empty where it has one.
std::string no_such(const CollectiveShape& shape, Algorithm algorithm);

/// The pieces and the staging of an algorithm with packets. `me` does not matter for the staging.
Pieces pieces_of(const CollectiveShape& shape, Algorithm algorithm, int me);
Staging staging_of(const CollectiveShape& shape, Algorithm algorithm);

/// The properties that all members' GPUs have in common: the same in every process.
struct DeviceLimits {
  /// Blocks that are resident at once on every member's GPU: a block waits for others, so no block may wait for its
  /// turn.
  unsigned most_blocks = 1;
  bool lines = false;         ///< lines arrive whole between any two of the GPUs
  bool peers = false;         ///< every member's kernels reach every member's buffers
  bool programmatic = false;  ///< every member's kernels can be launched with vendor::Start::programmatic
  bool shared = false;        ///< two members are on one GPU
};

struct LaunchChoice {
  Algorithm algorithm = Algorithm::one_shot_ll;
  unsigned blocks = 1;
  unsigned threads = 512;  ///< per block: a multiple of 32
  Bytes chunk = 0;         ///< of pushes and rings alone
  DependentLaunch dependent = DependentLaunch::complete;

  bool operator==(const LaunchChoice&) const = default;
  /// "algorithm" (its number), "blocks", "threads", "chunk" where there are any, "dependent_launch" (its number).
  [[nodiscard]] Setting setting() const;
  static LaunchChoice from(const Setting& setting);
};

/// "programmatic".
constexpr std::string_view name_of(DependentLaunch dependent) {
  return parameter::dependent_launch.word_at(static_cast<std::size_t>(dependent));
}

/// Kernels of one member that may be on its GPU at once and count where members share it: those that wait for their
/// predecessor's end could keep out another member's kernel, for which that predecessor waits.
unsigned crowd(const DeviceLimits& limits, DependentLaunch dependent);

/// Which algorithms, grids and dependent launches to measure, best guess first; one where parameters fix it. The
/// choices are generous: what is best is for the measurement to say. Throws Error{unsupported} for what the collective,
/// the form or the GPUs do not have, Error{bad_input} for a grid that cannot be.
std::vector<LaunchChoice> choices_for(const CollectiveShape& shape, const DeviceLimits& limits,
                                      const Parameters& parameters);

/// Bytes of staging that any of the choices can need, whatever the GPUs.
Bytes staging_bytes(const CollectiveShape& shape, const Parameters& parameters);

}  // namespace linkscope::direct
