// Collective: kinds, sizes and parts of collectives, for every interface.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "model/elements.hpp"
#include "model/flow.hpp"
#include "model/flow_part.hpp"
#include "model/parameter.hpp"
#include "model/transfer.hpp"

namespace linkscope {

enum class CollectiveKind { all_reduce, reduce, broadcast, reduce_scatter, all_gather, all_to_all, barrier };
/// in: the input is where the output goes, as NCCL and MPI (MPI_IN_PLACE) have it.
enum class InPlace { out, in };

/// A collective as the parameters of its flow ask for it: `collective`, `type` (float32), `in_place` (no). The
/// reduction is a sum.
struct CollectiveShape {
  CollectiveKind kind = CollectiveKind::all_reduce;
  ElementType type = ElementType::float32;
  InPlace place = InPlace::out;
  int members = 0;
  Bytes bytes = 0;  ///< as nccl-tests counts it: of the larger buffer

  /// Throws Error{bad_input} where there are no members, and Error{unsupported} where `bytes` is no whole number of
  /// elements for every member, or the kind has no in-place form.
  static CollectiveShape of(const Flow& flow);

  [[nodiscard]] Bytes element_bytes() const;
  /// Bytes that one member sends and receives: all of it, or one member's block of all-gather and reduce-scatter.
  [[nodiscard]] Bytes source_bytes() const;
  [[nodiscard]] Bytes destination_bytes() const;
  /// Bytes from the start of the buffer that holds member `index`'s input to that input: in place it is among the
  /// output.
  [[nodiscard]] Bytes input_offset(int index) const;
  /// Bytes from the start of the buffer to the output, as NCCL has it: in place a reduce-scatter's is the member's
  /// block of the input.
  [[nodiscard]] Bytes output_offset(int index) const;
  /// As TransferFacts::accumulates: a reduction in place finds the last call's result among its inputs.
  [[nodiscard]] bool accumulates() const;
  /// Calls after which an all-reduce in place, which multiplies its numbers by the members each time, still has numbers
  /// that are finite and not zero; any number of calls of what is no such all-reduce.
  [[nodiscard]] std::uint64_t most_calls() const;
  /// States in `facts`, which hold `operations` already, how its transfers are checked and how many go in a row.
  void state_in(TransferFacts& facts) const;
  /// Says whether member `index` has input, output, of its own (the root of a broadcast, of a reduce, is member 0).
  [[nodiscard]] bool sends(int index) const;
  [[nodiscard]] bool receives(int index) const;
};

/// Names as plans, suites and rows have them: "all-reduce", "bfloat16".
std::string_view name_of(CollectiveKind kind);
std::string_view name_of(ElementType type);

inline constexpr Parameter collective_kind =
    word("collective", "all-reduce|reduce|broadcast|reduce-scatter|all-gather|all-to-all|barrier",
         "reductions are sums, the root is the first member");
inline constexpr Parameter element_type = word("type", "float32|float16|bfloat16|int32", "of the elements");
inline constexpr Parameter in_place = word("in_place", "no|yes", "yes: the output replaces the input");
/// The three.
[[nodiscard]] inline std::vector<Parameter> collective_parameters() {
  return {collective_kind, element_type, in_place};
}

/// One part per member: its process, its device, its buffers (in place: the destination alone), all timed.
std::vector<FlowPart> collective_parts(const Flow& flow);

}  // namespace linkscope
