// Names, kinds and packets of algorithms.
#include "collective/algorithm.hpp"

namespace linkscope::direct {
namespace {

using Kind = CollectiveKind;

constexpr Extent many_sets = 8;
/// Larger staging has two sets: a credit takes little time beside a call that needs so much.
constexpr Bytes most_for_many_sets = Bytes{64} << 20U;

}  // namespace

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

}  // namespace linkscope::direct
