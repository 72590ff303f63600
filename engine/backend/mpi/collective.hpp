// mpi-collective: MPI's collectives, one process for each member.
#pragma once

#include <memory>
#include <optional>

#include "backend/mpi/call.hpp"
#include "backend/mpi/context.hpp"
#include "backend/mpi/mpi_transfer.hpp"
#include "model/collective_check.hpp"
#include "model/method.hpp"

namespace linkscope::mpi {

/// A member of a collective, as the plan says it.
struct MpiMember {
  int index = 0;
  Caller caller;
  Arenas arenas;
};

/// One member's calls of a collective.
class MpiCollectiveTransfer final : public MpiTransfer {
 public:
  /// Throws Error{unsupported} where this MPI has no such type, or no sum of it.
  MpiCollectiveTransfer(MpiRuntime& runtime, const CollectiveShape& shape, const MpiMember& member);

  /// Before anything else: the slots that all members have, and their communicator, with member 0 as rank 0.
  void connect(std::uint64_t slots, MpiHandle communicator);

 protected:
  [[nodiscard]] std::optional<Span> make_calls(std::uint64_t first, std::uint64_t repeats) noexcept override;

 private:
  [[nodiscard]] std::optional<Span> one_by_one(std::uint64_t first, std::uint64_t repeats) noexcept;
  [[nodiscard]] std::optional<Span> in_a_row(std::uint64_t first, std::uint64_t repeats) noexcept;
  [[nodiscard]] int call(std::uint64_t index) const noexcept;

  CollectiveShape shape_;
  MpiMember member_;
  MpiElement type_;
  std::int64_t count_;  ///< as MpiFunctions counts
  MpiHandle communicator_ = 0;
  Slots from_;
  Slots to_;
};

/// The row of method `mpi-collective`. One CPU thread beside each member's memory calls MPI. Clock::host times each
/// call by itself, with a barrier between calls outside the time, as osu_allreduce and its like do; the other clocks
/// time calls made one right after another.
[[nodiscard]] Method mpi_collective(const std::shared_ptr<MpiContext>& context);

}  // namespace linkscope::mpi
