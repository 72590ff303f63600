// Words, sizes and parts of collectives.
#include "model/collective.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace linkscope {
namespace {

using Kind = CollectiveKind;

/// Blocks of one member each, of which the larger buffer is made.
bool in_blocks(Kind kind) {
  return kind == Kind::reduce_scatter || kind == Kind::all_gather || kind == Kind::all_to_all;
}

void require_whole_elements(const CollectiveShape& shape) {
  const Bytes unit = shape.element_bytes() * (in_blocks(shape.kind) ? static_cast<Bytes>(shape.members) : 1U);
  if (shape.bytes % unit == 0 && (shape.bytes > 0 || shape.kind == Kind::barrier)) return;
  throw Error(Fault::unsupported, std::to_string(shape.bytes) + " B is not a whole number of " +
                                      std::string(name_of(shape.type)) + " for each of " +
                                      std::to_string(shape.members) + " members");
}

void require_in_place_form(const CollectiveShape& shape) {
  if (shape.place == InPlace::out || (shape.kind != Kind::all_to_all && shape.kind != Kind::barrier)) return;
  const std::string kind(name_of(shape.kind));
  throw Error(Fault::unsupported, shape.kind == Kind::barrier
                                      ? kind + " in place: it has no input"
                                      : kind + " in place: each call would send what the last one brought");
}

}  // namespace

std::string_view name_of(CollectiveKind kind) {
  return collective_kind.word_at(static_cast<std::size_t>(kind));
}
std::string_view name_of(ElementType type) { return element_type.word_at(static_cast<std::size_t>(type)); }

CollectiveShape CollectiveShape::of(const Flow& flow) {
  if (flow.members.empty())
    throw Error(Fault::bad_input, flow.method + ": a collective needs members, not source and destination");
  CollectiveShape shape;
  shape.kind = flow.parameters.choice<CollectiveKind>(collective_kind);
  shape.type = flow.parameters.choice<ElementType>(element_type);
  shape.place = flow.parameters.choice<InPlace>(in_place);
  shape.members = static_cast<int>(flow.members.size());
  shape.bytes = flow.bytes;
  require_whole_elements(shape);
  require_in_place_form(shape);
  return shape;
}

Bytes CollectiveShape::element_bytes() const { return linkscope::element_bytes(type); }

Bytes CollectiveShape::source_bytes() const {
  return kind == CollectiveKind::all_gather ? bytes / static_cast<Bytes>(members) : bytes;
}

Bytes CollectiveShape::destination_bytes() const {
  return kind == CollectiveKind::reduce_scatter ? bytes / static_cast<Bytes>(members) : bytes;
}

Bytes CollectiveShape::input_offset(int index) const {
  const bool within = place == InPlace::in && kind == CollectiveKind::all_gather;
  return within ? static_cast<Bytes>(index) * source_bytes() : 0;
}

Bytes CollectiveShape::output_offset(int index) const {
  const bool within = place == InPlace::in && kind == CollectiveKind::reduce_scatter;
  return within ? static_cast<Bytes>(index) * destination_bytes() : 0;
}

bool CollectiveShape::accumulates() const {
  return place == InPlace::in && (kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce ||
                                  kind == CollectiveKind::reduce_scatter);
}

std::uint64_t CollectiveShape::most_calls() const {
  if (place == InPlace::out || kind != CollectiveKind::all_reduce)
    return std::numeric_limits<std::uint64_t>::max();
  const auto bits_of = [](int number) {
    return static_cast<int>(std::bit_width(static_cast<unsigned>(number)));
  };
  const int range = type == ElementType::int32 ? 31 : type == ElementType::float16 ? 15 : 127;
  const int first = bits_of(3 * members);              // of the first call's sum
  const int each = std::max(bits_of(members - 1), 1);  // of every further call
  return static_cast<std::uint64_t>(std::max(1 + (range - first) / each, 1));
}

void CollectiveShape::state_in(TransferFacts& facts) const {
  facts.collective = true;
  facts.accumulates = accumulates();
  facts.limit(std::max<std::uint64_t>(most_calls() / facts.operations, 1));
}

bool CollectiveShape::sends(int index) const {
  if (kind == CollectiveKind::barrier) return false;
  return kind != CollectiveKind::broadcast || index == 0;
}

bool CollectiveShape::receives(int index) const {
  if (kind == CollectiveKind::barrier) return false;
  return kind != CollectiveKind::reduce || index == 0;
}

std::vector<FlowPart> collective_parts(const Flow& flow) {
  const CollectiveShape shape = CollectiveShape::of(flow);
  std::vector<FlowPart> parts;
  for (int index = 0; index < shape.members; ++index) {
    const Endpoint& member = flow.members[static_cast<std::size_t>(index)];
    FlowPart part{member.rank, member.device, std::nullopt, std::nullopt, Timing::timed};
    if (shape.sends(index) && shape.place == InPlace::out) part.source = member;
    if (shape.receives(index) || shape.place == InPlace::in) part.destination = member;
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace linkscope
