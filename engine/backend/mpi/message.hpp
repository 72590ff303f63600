// mpi: messages between two processes, by MPI's point-to-point and one-sided calls.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/mpi/call.hpp"
#include "backend/mpi/mpi_method.hpp"
#include "backend/mpi/mpi_transfer.hpp"
#include "model/flow_part.hpp"
#include "model/message_check.hpp"

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
  /// Withdraws the window of a one-sided call: collective over the communicator. Without it the window stays.
  void withdraw();

  void arm(std::uint64_t seed) override;
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override;
  [[nodiscard]] Bytes verified_bytes() const override;
  void flush() override;
  [[nodiscard]] std::vector<std::string> notes() const override;

 protected:
  [[nodiscard]] std::optional<Span> make_calls(std::uint64_t first, std::uint64_t repeats) noexcept override;

 private:
  [[nodiscard]] bool barrier_failed() noexcept;
  [[nodiscard]] std::optional<Span> timed_loop(std::uint64_t first, std::uint64_t repeats) noexcept;
  [[nodiscard]] std::optional<Span> one_sided(std::uint64_t first, std::uint64_t repeats) noexcept;
  [[nodiscard]] std::uint64_t messages() const {
    return done() * static_cast<std::uint64_t>(arguments_.depth);
  }

  const Call* call_;
  End end_;
  CallArguments arguments_;
  std::vector<std::byte> requests_;
  std::optional<MessageCheck> check_;  ///< nothing of messages without bytes
};

/// The sender's process and the receiver's each have a part; one CPU thread beside each end's memory calls MPI.
class MpiMessage final : public MpiMethod {
 public:
  explicit MpiMessage(std::shared_ptr<MpiContext> context)
      : MpiMethod(std::move(context), {"mpi", "messages between two processes by MPI, loaded at run time",
                                       Quantity::bandwidth, mpi_traits}) {}

  [[nodiscard]] Quantity quantity_of(const Flow& flow) const override;
  [[nodiscard]] std::map<std::string, std::string> parameters() const override;
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] std::vector<FlowPart> parts(const Flow& flow) const override;
  [[nodiscard]] std::unique_ptr<PreparedParts> assemble(const Flow& flow,
                                                        const std::vector<LocalPart>& own) const override;
  [[nodiscard]] Bytes rotation_bytes(const Flow& flow) const override;
};

}  // namespace linkscope::mpi
