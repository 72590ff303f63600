// Which algorithms and grids are tried for which collective.
#include "collective/launch_choice.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace linkscope::direct {
namespace {

constexpr unsigned warp = 32;
// Where trying is worth while: bytes that a member sends, flags and all.
constexpr Bytes most_sent_in_pairs = MiB;
constexpr Bytes most_sent_in_lines = 4 * MiB;
constexpr Bytes most_sent_in_two_trips = 24 * MiB;
constexpr Bytes least_on_peers = 32 * KiB;
constexpr Bytes most_undivided = 8 * MiB;  ///< beyond, a share each is less than half of the traffic
constexpr Bytes most_staging = Bytes{1} << 30U;

/// Bytes that one member sends.
Bytes bytes_sent(const CollectiveShape& shape, Algorithm algorithm) {
  const Staging staging = staging_of(shape, algorithm);
  return Bytes{staging.areas} * staging.place_bytes * static_cast<Bytes>(shape.members - 1);
}

/// Why the algorithm is out of the question; empty where it is not.
std::string refusal(const CollectiveShape& shape, const Room& room, Algorithm algorithm) {
  if (std::string reason = no_such(shape, algorithm); !reason.empty()) return reason;
  const std::string name(name_of(algorithm));
  const auto format = format_of(algorithm);
  if (!format) {
    if (shape.kind == CollectiveKind::barrier || room.peers) return "";
    return name + " needs buffers that every member's kernels reach";
  }
  if (format == Format::lines && !room.lines)
    return name + ": lines of 128 bytes need not arrive whole between these GPUs (NVLink lets them)";
  if (staging_of(shape, algorithm).bytes(shape.members) > most_staging)
    return name + " would need more than " + format_bytes(most_staging) + " of staging";
  return "";
}

bool worth_trying(const CollectiveShape& shape, const Room& room, Algorithm algorithm) {
  if (!refusal(shape, room, algorithm).empty()) return false;
  const auto format = format_of(algorithm);
  if (!format) {
    const bool has_packets = refusal(shape, room, Algorithm::one_shot_ll).empty();
    const bool divides = no_such(shape, Algorithm::two_shot).empty() && algorithm == Algorithm::one_shot;
    if (divides && shape.bytes > most_undivided) return false;
    return shape.bytes >= least_on_peers || !has_packets;
  }
  const Bytes sent = bytes_sent(shape, algorithm);
  if (format == Format::pairs) return sent <= most_sent_in_pairs;
  return sent <= (trips_of(algorithm) == Trips::two ? most_sent_in_two_trips : most_sent_in_lines);
}

LaunchChoice grid(Algorithm algorithm, std::uint64_t wanted_blocks, unsigned threads, const Room& room) {
  return {algorithm, static_cast<unsigned>(std::clamp<std::uint64_t>(wanted_blocks, 1, room.most_blocks)),
          threads};
}

void add(std::vector<LaunchChoice>& choices, const LaunchChoice& choice) {
  if (std::find(choices.begin(), choices.end(), choice) == choices.end()) choices.push_back(choice);
}

/// One packet for each worker, or a few; few large blocks, or many small ones.
void add_packet_grids(std::vector<LaunchChoice>& choices, const CollectiveShape& shape, const Room& room,
                      Algorithm algorithm) {
  struct Grid {
    unsigned threads;
    unsigned packets_each;
  };
  const std::uint64_t threads_useful =
      std::uint64_t{staging_of(shape, algorithm).packets} * packet_size(*format_of(algorithm)).threads;
  for (const Grid& wanted : {Grid{512, 1}, Grid{256, 1}, Grid{128, 1}, Grid{512, 2}, Grid{512, 4}}) {
    const auto threads = static_cast<unsigned>(
        std::min<std::uint64_t>(wanted.threads, (threads_useful + warp - 1) / warp * warp));
    const std::uint64_t at_once = std::uint64_t{threads} * wanted.packets_each;
    add(choices, grid(algorithm, (threads_useful + at_once - 1) / at_once, threads, room));
  }
}

/// Bytes that one member's kernel works through.
Bytes bytes_worked(const CollectiveShape& shape, Algorithm algorithm) {
  if (algorithm == Algorithm::two_shot) return share_of(shape.bytes, shape.members);
  return combine_of(shape.kind) == Combine::sum && shape.kind != CollectiveKind::reduce_scatter
             ? shape.bytes
             : std::max(shape.source_bytes(), shape.destination_bytes()) / static_cast<Bytes>(shape.members);
}

void add_peer_grids(std::vector<LaunchChoice>& choices, const CollectiveShape& shape, const Room& room,
                    Algorithm algorithm) {
  if (shape.kind == CollectiveKind::barrier) {
    add(choices, grid(algorithm, 1, warp, room));
    return;
  }
  const Bytes bytes = bytes_worked(shape, algorithm);
  for (const unsigned threads : {peer_threads, peer_threads / 2}) {
    const Bytes tile = threads * peer_thread_bytes;
    const Bytes tiles = (bytes + tile - 1) / tile;
    for (const unsigned divisor : {1U, 2U, 4U, 8U})
      add(choices, grid(algorithm, std::min<Bytes>(tiles, room.most_blocks / divisor), threads, room));
  }
}

unsigned number(const Parameters& parameters, const char* name, unsigned otherwise, unsigned most) {
  const std::int64_t value = parameters.number(name, otherwise);
  if (value >= 1 && value <= static_cast<std::int64_t>(most)) return static_cast<unsigned>(value);
  throw Error(Fault::bad_input, std::string("parameter ") + name + ": 1 to " + std::to_string(most));
}

/// Grids as parameters blocks and threads have them.
std::vector<LaunchChoice> fixed(const std::vector<LaunchChoice>& choices, const Room& room,
                                const Parameters& parameters) {
  std::vector<LaunchChoice> all;
  for (LaunchChoice choice : choices) {
    choice.threads = number(parameters, "threads", choice.threads, packet_threads);
    choice.blocks = number(parameters, "blocks", choice.blocks, most_blocks);
    if (choice.threads % warp != 0)
      throw Error(Fault::bad_input, "parameter threads: a multiple of " + std::to_string(warp));
    if (choice.blocks > room.most_blocks)
      throw Error(Fault::unsupported, "at most " + std::to_string(room.most_blocks) +
                                          " blocks: they wait for one another, so all must run at once");
    add(all, choice);
  }
  return all;
}

}  // namespace

static_assert(packet_threads == peer_threads);

Setting LaunchChoice::setting() const {
  return {{"algorithm", static_cast<std::int64_t>(algorithm)}, {"blocks", blocks}, {"threads", threads}};
}

LaunchChoice LaunchChoice::from(const Setting& setting) {
  LaunchChoice choice;
  for (const auto& [name, value] : setting) {
    if (name == "algorithm") choice.algorithm = static_cast<Algorithm>(value);
    if (name == "blocks") choice.blocks = static_cast<unsigned>(value);
    if (name == "threads") choice.threads = static_cast<unsigned>(value);
  }
  return choice;
}

std::vector<LaunchChoice> choices_for(const CollectiveShape& shape, const Room& room,
                                      const Parameters& parameters) {
  const auto named = read_algorithm(parameters.word("algorithm", "auto"));
  std::vector<LaunchChoice> choices;
  std::string reasons;
  for (const Algorithm algorithm : all_algorithms) {
    if (named && algorithm != *named) continue;
    if (const std::string reason = refusal(shape, room, algorithm); !reason.empty()) {
      reasons += (reasons.empty() ? "" : "; ") + reason;
      continue;
    }
    if (!named && !worth_trying(shape, room, algorithm)) continue;
    if (format_of(algorithm)) {
      add_packet_grids(choices, shape, room, algorithm);
    } else {
      add_peer_grids(choices, shape, room, algorithm);
    }
  }
  if (choices.empty())
    throw Error(Fault::unsupported, reasons.empty() ? "no algorithm is for this size" : reasons);
  return fixed(choices, room, parameters);
}

Bytes staging_bytes(const CollectiveShape& shape, const Parameters& parameters) {
  const auto named = read_algorithm(parameters.word("algorithm", "auto"));
  const Room anywhere{most_blocks, true, true};
  Bytes most = 0;
  for (const Algorithm algorithm : all_algorithms) {
    if (!format_of(algorithm) || !refusal(shape, anywhere, algorithm).empty()) continue;
    if (named ? algorithm == *named : worth_trying(shape, anywhere, algorithm))
      most = std::max(most, staging_of(shape, algorithm).bytes(shape.members));
  }
  return most;
}

std::map<std::string, std::string> choice_parameters() {
  return {{"algorithm",
           "auto (default: measured), one-shot, two-shot, one-shot-ll, two-shot-ll, one-shot-ll128, "
           "two-shot-ll128; rows number them from 0 in that order"},
          {"blocks", "blocks of each kernel, all resident at once; default: measured"},
          {"threads", "threads per block, a multiple of 32 up to 512; default: measured"}};
}

}  // namespace linkscope::direct
