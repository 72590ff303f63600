// Collective: kinds, element types, buffer sizes and exact expected values of collectives, for every interface.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "model/flow.hpp"
#include "model/part.hpp"

namespace linkscope {

enum class CollectiveKind { all_reduce, reduce, broadcast, reduce_scatter, all_gather, all_to_all, barrier };
enum class ElementType { float32, float16, bfloat16, int32 };
/// in: the input lies where the output shall, as NCCL and MPI (MPI_IN_PLACE) have it.
enum class InPlace { out, in };

/// What the parameters of a collective flow ask for: `collective`, `type` (float32), `in_place` (no). The reduction is a sum.
struct CollectiveShape {
  CollectiveKind kind = CollectiveKind::all_reduce;
  ElementType type = ElementType::float32;
  InPlace place = InPlace::out;
  int members = 0;
  Bytes bytes = 0;  ///< as nccl-tests counts it: of the larger buffer

  /// Throws Error{bad_input} for words that mean nothing, and Error{unsupported} where `bytes` is no whole number of
  /// elements for every member, or the kind has no in-place form that repeated calls leave checkable.
  static CollectiveShape of(const Flow& flow);

  [[nodiscard]] Bytes element_bytes() const;
  /// Bytes that one member sends and receives: all of it, or one member's block of all-gather and reduce-scatter.
  [[nodiscard]] Bytes source_bytes() const;
  [[nodiscard]] Bytes destination_bytes() const;
  /// Whether member `index` has input, output, of its own (the root of a broadcast, of a reduce, is member 0).
  [[nodiscard]] bool sends(int index) const;
  [[nodiscard]] bool receives(int index) const;
};

/// Names as plans, suites and rows have them: "all-reduce", "bfloat16".
std::string_view name_of(CollectiveKind kind);
std::string_view name_of(ElementType type);

/// One part per member: its process, its device, its buffers (in place: the destination alone), all timed.
std::vector<Part> collective_parts(const Flow& flow);

/// Element `index` of member `member`'s input in round `seed`: a whole number from -3 to 3, so that a sum over up to 80
/// members is exact in every type, in any order. `balanced` over n members: they add up to zero at every index, so that
/// sums in place stay what they are however often they are repeated.
/// constexpr so that one definition serves the host and the device.
constexpr int input_element(std::uint64_t seed, int member, std::uint64_t index) {
  std::uint64_t word = (index + (seed * 0xD1B54A32D192ED03ULL) +
                        (static_cast<std::uint64_t>(member) * 0xA0761D6478BD642FULL)) *
                       0x9E3779B97F4A7C15ULL;
  word ^= word >> 32U;
  return static_cast<int>((word * 0xE7037ED1A0B428DBULL >> 40U) % 7U) - 3;
}

constexpr int balanced_element(std::uint64_t seed, int member, int members, std::uint64_t index) {
  const auto at = [&](int m) { return m == 0 ? 0 : input_element(seed, m, index); };
  const int next = member + 1 == members ? 0 : member + 1;
  return at(next) - at(member);
}

/// Sum of all members' inputs.
constexpr int summed_element(std::uint64_t seed, int members, std::uint64_t index) {
  int sum = 0;
  for (int member = 0; member < members; ++member) sum += input_element(seed, member, index);
  return sum;
}

}  // namespace linkscope
