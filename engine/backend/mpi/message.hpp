// mpi: messages between two processes, by MPI's point-to-point and one-sided calls.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/mpi/call.hpp"
#include "backend/mpi/context.hpp"
#include "backend/mpi/mpi_transfer.hpp"
#include "model/flow_part.hpp"
#include "model/message_check.hpp"
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

}  // namespace linkscope::mpi
