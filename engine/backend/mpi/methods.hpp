// The methods of MPI: messages between two processes, by point-to-point and one-sided calls, and collectives.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/mpi/call.hpp"
#include "backend/mpi/context.hpp"
#include "backend/mpi/mpi_transfer.hpp"
#include "model/collective_check.hpp"
#include "model/copy_check.hpp"
#include "model/flow_part.hpp"
#include "model/method.hpp"

namespace linkscope::mpi {

/// One end of a flow, as the plan says it.
struct End {
  Side side = Side::source;
  Caller caller;
  Arenas arenas;
  std::unique_ptr<BounceBuffer> out_bounce;
  std::unique_ptr<BounceBuffer> in_bounce;
};

/// Its memory, its loop, its time.
class EndTransfer final : public MpiTransfer {
 public:
  EndTransfer(MpiRuntime& runtime, const Flow& flow, End end);

  /// Before anything else: the slots that both ends have, and who the other one is. Collective over the communicator.
  /// Throws Error{broken}.
  void connect(std::uint64_t slots, MpiHandle communicator, int peer, Tags tags);
  /// Withdraws the window of a one-sided call, which stays otherwise.
  void finish() override;
  [[nodiscard]] std::vector<std::string> notes() const override;

 protected:
  [[nodiscard]] std::optional<Span> make_calls(std::uint64_t first, std::uint64_t repeats) noexcept override;

 private:
  [[nodiscard]] bool barrier_failed() noexcept;
  [[nodiscard]] std::optional<Span> timed_loop(std::uint64_t first, std::uint64_t repeats) noexcept;
  [[nodiscard]] std::optional<Span> one_sided(std::uint64_t first, std::uint64_t repeats) noexcept;

  const Call* call_;
  End end_;
  CallArguments arguments_;
  std::vector<std::byte> requests_;
};

/// The row of method `mpi`. The sender's process and the receiver's each have a part; one CPU thread beside each end's
/// memory calls MPI.
[[nodiscard]] Method mpi_message(const std::shared_ptr<MpiContext>& context);

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
