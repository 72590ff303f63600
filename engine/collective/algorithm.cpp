// Names, kinds and packets of algorithms.
#include "collective/algorithm.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"

namespace linkscope::direct {
namespace {

using Kind = CollectiveKind;

constexpr std::array<std::pair<std::string_view, Algorithm>, 8> names{
    {{"one-shot", Algorithm::one_shot},
     {"two-shot", Algorithm::two_shot},
     {"one-shot-ll", Algorithm::one_shot_ll},
     {"two-shot-ll", Algorithm::two_shot_ll},
     {"one-shot-ll128", Algorithm::one_shot_ll128},
     {"two-shot-ll128", Algorithm::two_shot_ll128},
     {"two-shot-push", Algorithm::two_shot_push},
     {"ring", Algorithm::ring}}};

constexpr Extent many_sets = 8;
/// Of staging with so many sets; what a credit takes is little beside what takes more.
constexpr Bytes most_for_many_sets = Bytes{64} << 20U;

}  // namespace

std::string_view name_of(Algorithm algorithm) {
  return std::find_if(names.begin(), names.end(), [&](const auto& one) { return one.second == algorithm; })
      ->first;
}

std::optional<Algorithm> read_algorithm(const std::string& word) {
  if (word == "auto") return std::nullopt;
  std::string known = "auto";
  for (const auto& [name, algorithm] : names) {
    if (word == name) return algorithm;
    known += ", " + std::string(name);
  }
  throw Error(Fault::bad_input, "parameter algorithm: '" + word + "' is none of " + known);
}

Family family_of(Algorithm algorithm) {
  if (format_of(algorithm)) return Family::packets;
  if (algorithm == Algorithm::two_shot_push) return Family::pushes;
  return algorithm == Algorithm::ring ? Family::rings : Family::peers;
}

std::optional<Format> format_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::one_shot:
    case Algorithm::two_shot:
    case Algorithm::two_shot_push:
    case Algorithm::ring:
      return std::nullopt;
    case Algorithm::one_shot_ll:
    case Algorithm::two_shot_ll:
      return Format::pairs;
    case Algorithm::one_shot_ll128:
    case Algorithm::two_shot_ll128:
      return Format::lines;
  }
  return std::nullopt;
}

Trips trips_of(Algorithm algorithm) {
  const bool two = algorithm == Algorithm::two_shot_ll || algorithm == Algorithm::two_shot_ll128;
  return two ? Trips::two : Trips::one;
}

Division division_of(Algorithm algorithm) {
  return algorithm == Algorithm::two_shot ? Division::two_shot : Division::one_shot;
}

std::string no_such(const CollectiveShape& shape, Algorithm algorithm) {
  const Kind kind = shape.kind;
  const std::string what = std::string(name_of(kind)) + " by " + std::string(name_of(algorithm)) + ": ";
  if (kind == Kind::barrier)
    return algorithm == Algorithm::one_shot ? "" : what + "a barrier moves nothing, it is one-shot";
  const bool divides = kind == Kind::all_reduce || kind == Kind::reduce || kind == Kind::broadcast;
  if (algorithm == Algorithm::two_shot && !divides)
    return what + "every byte is needed by one member, or has been divided already";
  if (trips_of(algorithm) == Trips::two && kind != Kind::all_reduce)
    return what + "only an all-reduce has two trips";
  const bool overwrites = kind == Kind::all_reduce && shape.place == InPlace::in;
  if (algorithm == Algorithm::one_shot && overwrites)
    return what + "in place, members would overwrite what others have yet to load";
  if (const Family family = family_of(algorithm); family == Family::pushes || family == Family::rings) {
    if (family == Family::pushes && combine_of(kind) != Combine::sum) return what + "only sums are pushed";
    if (kind == Kind::all_to_all) return what + "every member's block is for one other member only";
    const bool in_blocks = kind == Kind::reduce_scatter || kind == Kind::all_gather;
    const bool whole = shape.bytes / static_cast<Bytes>(shape.members) % vector_bytes == 0;
    return !in_blocks || whole ? "" : what + "takes only blocks of whole 16 bytes";
  }
  if (!format_of(algorithm)) return "";
  if (shape.bytes > most_packet_bytes)
    return what + "packets are for at most " + format_bytes(most_packet_bytes);
  if (format_of(algorithm) == Format::lines && !whole_vectors(pieces_of(shape, algorithm, 0)))
    return what + "lines take only pieces of whole 16 bytes";
  return "";
}

Pieces pieces_of(const CollectiveShape& shape, Algorithm algorithm, int me) {
  return trips_of(algorithm) == Trips::two ? two_shot_pieces(shape, me) : one_shot_pieces(shape, me);
}

Staging staging_of(const CollectiveShape& shape, Algorithm algorithm) {
  const PacketSize size = packet_size(format_of(algorithm).value());
  const Pieces pieces = pieces_of(shape, algorithm, 0);
  Staging staging;
  staging.packets = (pieces.bytes + size.load_bytes - 1) / size.load_bytes;
  staging.place_bytes = staging.packets * size.packet_bytes;
  staging.areas = trips_of(algorithm) == Trips::two ? 2 : 1;
  if (pieces.traffic == Traffic::one_way) {
    Staging many = staging;
    many.sets = many_sets;
    if (many.bytes(shape.members) <= most_for_many_sets) return many;
  }
  return staging;
}

}  // namespace linkscope::direct
