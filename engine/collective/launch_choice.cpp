// Kinds and packets of algorithms; choices_for(): the algorithms and grids that are tried for a collective.
#include "collective/launch_choice.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "base/error.hpp"

namespace linkscope::direct {
namespace {

using Kind = CollectiveKind;

constexpr Extent many_sets = 8;
/// Larger staging has two sets: a credit takes little time beside a call that needs so much.
constexpr Bytes most_for_many_sets = Bytes{64} << 20U;

constexpr unsigned warp = 32;
// Sizes at which trying is worth while: bytes that a member sends, with its flags.
constexpr Bytes most_sent_in_pairs = MiB;
constexpr Bytes most_sent_in_lines = 4 * MiB;
constexpr Bytes most_sent_in_two_trips = 24 * MiB;
constexpr Bytes least_on_peers = 32 * KiB;
constexpr Bytes most_undivided = 8 * MiB;  ///< beyond, a share each is less than half of the traffic
constexpr Bytes least_pushed = 4 * MiB;    ///< below, packets and loads are worth more
constexpr Bytes most_staging = Bytes{1} << 30U;
constexpr Bytes least_on_ring = 16 * MiB;  ///< below, fewer stops are worth more
constexpr Bytes most_chunk_staging = 256 * MiB;
constexpr Bytes push_chunk_sizes[] = {32 * KiB, 64 * KiB, 16 * KiB, 128 * KiB};
constexpr Bytes ring_chunk_sizes[] = {128 * KiB, 64 * KiB, 256 * KiB, 32 * KiB, 16 * KiB};

/// The division of work in algorithms that move chunks: workers take the chunks of a share in turn.
struct Chunking {
  unsigned blocks_each = 1;      ///< of a worker
  std::span<const Bytes> sizes;  ///< of chunks, worth trying
  Bytes share = 0;               ///< the longest, in bytes
  Bytes places = 0;              ///< for chunks of one worker in a member's staging
  unsigned most_divisor = 1;     ///< grids go down to that part of what is resident

  [[nodiscard]] Bytes least() const { return *std::min_element(sizes.begin(), sizes.end()); }
  [[nodiscard]] Bytes most() const { return *std::max_element(sizes.begin(), sizes.end()); }
};

/// Nothing of algorithms that move none.
std::optional<Chunking> chunking_of(const CollectiveShape& shape, Family family) {
  if (family == Family::pushes) {
    return Chunking{2, push_chunk_sizes, share_of(shape.bytes, shape.members),
                    push_depth * static_cast<Bytes>(shape.members - 1), 16};
  }
  if (family != Family::rings) return std::nullopt;
  const RingCut cut = ring_cut(shape, 0, 1, vector_bytes);
  return Chunking{1, ring_chunk_sizes, cut.share, cut.sums() ? ring_depth : 0, 4};
}

/// Bytes that one member sends.
Bytes bytes_sent(const CollectiveShape& shape, Algorithm algorithm) {
  const Staging staging = staging_of(shape, algorithm);
  return Bytes{staging.areas} * staging.place_bytes * static_cast<Bytes>(shape.members - 1);
}

/// Returns why the algorithm cannot be used at all, empty where it can.
std::string refusal(const CollectiveShape& shape, const DeviceLimits& limits, Algorithm algorithm) {
  if (std::string reason = no_such(shape, algorithm); !reason.empty()) return reason;
  const std::string name(name_of(algorithm));
  const auto format = row_of(algorithm).format;
  if (!format) {
    if (shape.kind == CollectiveKind::barrier || limits.peers) return "";
    return name + " needs buffers that every member's kernels reach";
  }
  if (format == Format::lines && !limits.lines)
    return name + ": lines of 128 bytes need not arrive whole between these GPUs (NVLink lets them)";
  if (staging_of(shape, algorithm).bytes(shape.members) > most_staging)
    return name + " would need more than " + format_bytes(most_staging) + " of staging";
  return "";
}

bool worth_trying(const CollectiveShape& shape, const DeviceLimits& limits, Algorithm algorithm) {
  if (!refusal(shape, limits, algorithm).empty()) return false;
  if (row_of(algorithm).family == Family::pushes) return shape.bytes >= least_pushed;
  if (row_of(algorithm).family == Family::rings) return shape.bytes >= least_on_ring;
  const auto format = row_of(algorithm).format;
  if (!format) {
    const bool has_packets = refusal(shape, limits, Algorithm::one_shot_ll).empty();
    const bool divides = no_such(shape, Algorithm::two_shot).empty() && algorithm == Algorithm::one_shot;
    if (divides && shape.bytes > most_undivided) return false;
    return shape.bytes >= least_on_peers || !has_packets;
  }
  const Bytes sent = bytes_sent(shape, algorithm);
  if (format == Format::pairs) return sent <= most_sent_in_pairs;
  return sent <= (row_of(algorithm).trips == Trips::two ? most_sent_in_two_trips : most_sent_in_lines);
}

LaunchChoice grid(Algorithm algorithm, std::uint64_t wanted_blocks, unsigned threads,
                  const DeviceLimits& limits) {
  LaunchChoice choice;
  choice.algorithm = algorithm;
  choice.blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(wanted_blocks, 1, limits.most_blocks));
  choice.threads = threads;
  return choice;
}

void add(std::vector<LaunchChoice>& choices, const LaunchChoice& choice) {
  if (std::find(choices.begin(), choices.end(), choice) == choices.end()) choices.push_back(choice);
}

/// One packet for each worker, or a few; few large blocks, or many small ones.
void add_packet_grids(std::vector<LaunchChoice>& choices, const CollectiveShape& shape,
                      const DeviceLimits& limits, Algorithm algorithm) {
  struct PacketGrid {
    unsigned threads;
    unsigned packets_each;
  };
  const std::uint64_t threads_useful =
      std::uint64_t{staging_of(shape, algorithm).packets} * packet_size(*row_of(algorithm).format).threads;
  for (const PacketGrid& wanted : {PacketGrid{512, 1}, PacketGrid{256, 1}, PacketGrid{128, 1},
                                   PacketGrid{512, 2}, PacketGrid{512, 4}, PacketGrid{512, 8}}) {
    const auto threads = static_cast<unsigned>(
        std::min<std::uint64_t>(wanted.threads, (threads_useful + warp - 1) / warp * warp));
    const std::uint64_t at_once = std::uint64_t{threads} * wanted.packets_each;
    add(choices, grid(algorithm, (threads_useful + at_once - 1) / at_once, threads, limits));
  }
}

/// Bytes that one member's kernel works through.
Bytes bytes_worked(const CollectiveShape& shape, Algorithm algorithm) {
  if (algorithm == Algorithm::two_shot) return share_of(shape.bytes, shape.members);
  return combine_of(shape.kind) == Combine::sum && shape.kind != CollectiveKind::reduce_scatter
             ? shape.bytes
             : std::max(shape.source_bytes(), shape.destination_bytes()) / static_cast<Bytes>(shape.members);
}

void add_peer_grids(std::vector<LaunchChoice>& choices, const CollectiveShape& shape,
                    const DeviceLimits& limits, Algorithm algorithm) {
  if (shape.kind == CollectiveKind::barrier) {
    add(choices, grid(algorithm, 1, warp, limits));
    return;
  }
  const Bytes bytes = bytes_worked(shape, algorithm);
  for (const unsigned threads : {peer_threads, peer_threads / 2}) {
    const Bytes tile = threads * peer_thread_bytes;
    const Bytes tiles = (bytes + tile - 1) / tile;
    for (const unsigned divisor : {1U, 2U, 4U, 8U})
      add(choices, grid(algorithm, std::min<Bytes>(tiles, limits.most_blocks / divisor), threads, limits));
  }
}

/// As many as are resident at once.
unsigned most_of(Family family, const DeviceLimits& limits) {
  if (family != Family::pushes && family != Family::rings) return limits.most_blocks;
  return std::min(limits.most_blocks * chunk_blocks_each, most_blocks) / 2 * 2;
}

/// From all that are resident down, as far as each has a chunk.
void add_chunk_grids(std::vector<LaunchChoice>& choices, const Chunking& chunking, const DeviceLimits& limits,
                     Algorithm algorithm) {
  const unsigned most = most_of(row_of(algorithm).family, limits);
  LaunchChoice choice;
  choice.algorithm = algorithm;
  choice.threads = chunk_threads;
  for (unsigned divisor = 1; divisor <= chunking.most_divisor; divisor *= 2) {
    const unsigned workers = std::max(most / divisor / chunking.blocks_each, 1U);
    choice.blocks = chunking.blocks_each * workers;
    for (const Bytes chunk : chunking.sizes) {
      choice.chunk = chunk;
      if (Bytes{workers - 1} * chunk < chunking.share) add(choices, choice);
    }
  }
  if (!choices.empty()) return;
  choice.chunk = chunking.least();
  const Bytes chunks = (chunking.share + choice.chunk - 1) / choice.chunk;
  choice.blocks = chunking.blocks_each * static_cast<unsigned>(std::max<Bytes>(chunks, 1));
  choices.push_back(choice);
}

std::vector<LaunchChoice> grids(const CollectiveShape& shape, const DeviceLimits& limits,
                                Algorithm algorithm) {
  std::vector<LaunchChoice> choices;
  switch (row_of(algorithm).family) {
    case Family::packets:
      add_packet_grids(choices, shape, limits, algorithm);
      break;
    case Family::peers:
      add_peer_grids(choices, shape, limits, algorithm);
      break;
    case Family::pushes:
    case Family::rings:
      add_chunk_grids(choices, *chunking_of(shape, row_of(algorithm).family), limits, algorithm);
      break;
  }
  return choices;
}

/// The number that the plan gives, a multiple of `step`, or `otherwise`.
unsigned given(const Parameters& parameters, const Parameter& parameter, Bytes otherwise, unsigned step = 1) {
  const auto value = parameters.given_number(parameter).value_or(static_cast<std::int64_t>(otherwise));
  if (value % step == 0) return static_cast<unsigned>(value);
  throw Error(Fault::bad_input,
              "parameter " + std::string(parameter.name) + ": a multiple of " + std::to_string(step));
}

/// `choice` as parameters blocks, threads and chunk have it.
LaunchChoice fixed(LaunchChoice choice, const Parameters& parameters) {
  choice.threads = given(parameters, parameter::threads, choice.threads, warp);
  choice.blocks = given(parameters, parameter::blocks, choice.blocks);
  if (choice.chunk != 0) choice.chunk = given(parameters, parameter::chunk, choice.chunk, vector_bytes);
  return choice;
}

/// Returns why such a launch cannot be, empty where it can.
std::string refusal(const CollectiveShape& shape, const DeviceLimits& limits, const LaunchChoice& choice) {
  const Family family = row_of(choice.algorithm).family;
  if (choice.blocks > most_of(family, limits))
    return std::to_string(most_of(family, limits)) +
           " blocks at most: they wait for one another, so all must run at once";
  const auto chunking = chunking_of(shape, family);
  if (!chunking) return "";
  const std::string name(name_of(choice.algorithm));
  if (choice.blocks % chunking->blocks_each != 0)
    return name + " takes an even number of blocks: they work in pairs";
  if (choice.blocks / chunking->blocks_each * choice.chunk * chunking->places <= most_chunk_staging)
    return "";
  return name + " would need more than " + format_bytes(most_chunk_staging) + " of staging";
}

/// Returns those that parameter dependent_launch asks for, best guess first; the same in every process.
std::vector<DependentLaunch> dependent_launches(const DeviceLimits& limits, const Parameters& parameters) {
  using enum DependentLaunch;
  constexpr int measured = 3;  // the word behind those of DependentLaunch
  const auto word = parameters.given_choice<int>(parameter::dependent_launch);
  const DirectOptions form = DirectOptions::of(parameters);
  const bool single = form.launching == LaunchMode::in_kernel;
  const bool alone =
      form.launching == LaunchMode::graph && form.recorded == 1;  // a graph's end is waited for
  const bool has_any = limits.programmatic && !single;
  if (!word) return {has_any && !alone && !limits.shared ? programmatic : complete};
  if (*word == measured) {
    if (!has_any) return {complete};
    return limits.shared ? std::vector{programmatic, complete} : std::vector{programmatic, early, complete};
  }
  const auto wanted = static_cast<DependentLaunch>(*word);
  if (wanted == complete) return {complete};
  if (single) throw Error(Fault::unsupported, "form in-kernel makes one launch: none depends on it");
  if (!limits.programmatic)
    throw Error(
        Fault::unsupported,
        "programmatic dependent launches need CUDA 12.3 and compute capability 9.0 on every member's GPU");
  if (wanted == programmatic || !limits.shared) return {wanted};
  throw Error(Fault::unsupported,
              "early dependent launches need a GPU for each member: kernels that wait for "
              "their turn could keep out another member's");
}

/// The limits of members whose kernels come before their predecessors have gone.
DeviceLimits narrowed(DeviceLimits limits, DependentLaunch dependent) {
  limits.most_blocks = std::max(limits.most_blocks / crowd(limits, dependent), 1U);
  return limits;
}

/// Returns the most bytes that a grid of add_chunk_grids, or one that parameters fix, can need.
Bytes chunk_staging(const Chunking& chunking, const Parameters& parameters) {
  const unsigned blocks = given(parameters, parameter::blocks, most_blocks);
  const unsigned chunk = given(parameters, parameter::chunk, chunking.most());
  Bytes bytes = Bytes{std::max(blocks / chunking.blocks_each, 1U)} * chunk;
  if (!parameters.sets(parameter::blocks) && !parameters.sets(parameter::chunk))
    bytes = std::min(bytes, chunking.share + chunking.most());  // no worker is without a chunk
  return std::min(bytes * chunking.places, most_chunk_staging);
}

}  // namespace

static_assert(packet_threads == peer_threads && packet_threads == chunk_threads);

std::string no_such(const CollectiveShape& shape, Algorithm algorithm) {
  const Kind kind = shape.kind;
  const AlgorithmRow& row = row_of(algorithm);
  const std::string what = std::string(name_of(kind)) + " by " + std::string(name_of(algorithm)) + ": ";
  if (kind == Kind::barrier)
    return algorithm == Algorithm::one_shot ? "" : what + "a barrier moves nothing, it is one-shot";
  const bool divides = kind == Kind::all_reduce || kind == Kind::reduce || kind == Kind::broadcast;
  if (algorithm == Algorithm::two_shot && !divides)
    return what + "every byte is needed by one member, or has been divided already";
  if (row.trips == Trips::two && kind != Kind::all_reduce) return what + "only an all-reduce has two trips";
  const bool overwrites = kind == Kind::all_reduce && shape.place == InPlace::in;
  if (algorithm == Algorithm::one_shot && overwrites)
    return what + "in place, members would overwrite what others have yet to load";
  if (row.family == Family::pushes || row.family == Family::rings) {
    if (row.family == Family::pushes && combine_of(kind) != Combine::sum)
      return what + "only sums are pushed";
    if (kind == Kind::all_to_all) return what + "every member's block is for one other member only";
    const bool in_blocks = kind == Kind::reduce_scatter || kind == Kind::all_gather;
    const bool whole = shape.bytes / static_cast<Bytes>(shape.members) % vector_bytes == 0;
    return !in_blocks || whole ? "" : what + "takes only blocks of whole 16 bytes";
  }
  if (!row.format) return "";
  if (shape.bytes > most_packet_bytes)
    return what + "packets are for at most " + format_bytes(most_packet_bytes);
  if (row.format == Format::lines && !whole_vectors(pieces_of(shape, algorithm, 0)))
    return what + "lines take only pieces of whole 16 bytes";
  return "";
}

Pieces pieces_of(const CollectiveShape& shape, Algorithm algorithm, int me) {
  return row_of(algorithm).trips == Trips::two ? two_shot_pieces(shape, me) : one_shot_pieces(shape, me);
}

Staging staging_of(const CollectiveShape& shape, Algorithm algorithm) {
  const PacketSize size = packet_size(row_of(algorithm).format.value());
  const Pieces pieces = pieces_of(shape, algorithm, 0);
  Staging staging;
  staging.packets = (pieces.bytes + size.load_bytes - 1) / size.load_bytes;
  staging.place_bytes = staging.packets * size.packet_bytes;
  staging.areas = row_of(algorithm).trips == Trips::two ? 2 : 1;
  if (pieces.traffic == Traffic::one_way) {
    Staging many = staging;
    many.sets = many_sets;
    if (many.bytes(shape.members) <= most_for_many_sets) return many;
  }
  return staging;
}

unsigned crowd(const DeviceLimits& limits, DependentLaunch dependent) {
  return limits.shared && dependent != DependentLaunch::complete ? 2 : 1;
}

Setting LaunchChoice::setting() const {
  Setting setting{
      {"algorithm", static_cast<std::int64_t>(algorithm)}, {"blocks", blocks}, {"threads", threads}};
  if (chunk != 0) setting.emplace_back("chunk", static_cast<std::int64_t>(chunk));
  setting.emplace_back("dependent_launch", static_cast<std::int64_t>(dependent));
  return setting;
}

LaunchChoice LaunchChoice::from(const Setting& setting) {
  LaunchChoice choice;
  for (const auto& [name, value] : setting) {
    if (name == "algorithm") choice.algorithm = static_cast<Algorithm>(value);
    if (name == "blocks") choice.blocks = static_cast<unsigned>(value);
    if (name == "threads") choice.threads = static_cast<unsigned>(value);
    if (name == "chunk") choice.chunk = static_cast<Bytes>(value);
    if (name == "dependent_launch") choice.dependent = static_cast<DependentLaunch>(value);
  }
  return choice;
}

std::vector<LaunchChoice> choices_for(const CollectiveShape& shape, const DeviceLimits& limits,
                                      const Parameters& parameters) {
  const auto named = named_algorithm(parameters);
  const std::vector<DependentLaunch> launches = dependent_launches(limits, parameters);
  std::vector<LaunchChoice> choices;
  std::string reasons;
  const auto leave_out = [&](const std::string& reason) {
    if (reasons.find(reason) == std::string::npos) reasons += (reasons.empty() ? "" : "; ") + reason;
  };
  for (const AlgorithmRow& row : all_algorithms) {
    const Algorithm algorithm = row.algorithm;
    if (named && algorithm != *named) continue;
    if (const std::string reason = refusal(shape, limits, algorithm); !reason.empty()) {
      leave_out(reason);
      continue;
    }
    if (!named && !worth_trying(shape, limits, algorithm)) continue;
    for (const DependentLaunch dependent : launches) {
      const DeviceLimits own = narrowed(limits, dependent);
      for (LaunchChoice choice : grids(shape, own, algorithm)) {
        choice = fixed(choice, parameters);
        choice.dependent = dependent;
        const std::string reason = refusal(shape, own, choice);
        reason.empty() ? add(choices, choice) : leave_out(reason);
      }
    }
  }
  if (choices.empty())
    throw Error(Fault::unsupported, reasons.empty() ? "no algorithm is for this size" : reasons);
  return choices;
}

Bytes staging_bytes(const CollectiveShape& shape, const Parameters& parameters) {
  const auto named = named_algorithm(parameters);
  const DeviceLimits anywhere{.most_blocks = most_blocks, .lines = true, .peers = true};
  Bytes most = 0;
  for (const AlgorithmRow& row : all_algorithms) {
    const Algorithm algorithm = row.algorithm;
    if (row_of(algorithm).family == Family::peers || !refusal(shape, anywhere, algorithm).empty()) continue;
    if (named ? algorithm != *named : !worth_trying(shape, anywhere, algorithm)) continue;
    const auto chunking = chunking_of(shape, row_of(algorithm).family);
    most = std::max(most, chunking ? chunk_staging(*chunking, parameters)
                                   : staging_of(shape, algorithm).bytes(shape.members));
  }
  return most;
}

}  // namespace linkscope::direct
