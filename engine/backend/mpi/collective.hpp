// mpi-collective: MPI's collectives, one process for each member.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "backend/mpi/call.hpp"
#include "backend/mpi/mpi_method.hpp"
#include "backend/mpi/mpi_transfer.hpp"
#include "model/collective_check.hpp"

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

  void arm(std::uint64_t seed) override;
  void restore() override;
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override;
  [[nodiscard]] Bytes verified_bytes() const override;
  void flush() override { check_->flush(); }

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
  std::optional<CollectiveCheck> check_;
};

/// One CPU thread beside each member's memory calls MPI. Clock::host times each call by itself, with a barrier between
/// calls outside the time, as osu_allreduce and its like do; the other clocks time calls made one right after another.
class MpiCollective final : public MpiMethod {
 public:
  explicit MpiCollective(std::shared_ptr<MpiContext> context)
      : MpiMethod(std::move(context),
                  {"mpi-collective", "collectives of several processes by MPI, loaded at run time",
                   Quantity::bandwidth, mpi_collective_traits}) {}

  [[nodiscard]] Quantity quantity_of(const Flow& flow) const override;
  [[nodiscard]] std::map<std::string, std::string> parameters() const override;
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] std::vector<FlowPart> parts(const Flow& flow) const override;
  [[nodiscard]] std::unique_ptr<PreparedParts> assemble(const Flow& flow,
                                                        const std::vector<LocalPart>& own) const override;
  [[nodiscard]] Bytes rotation_bytes(const Flow& flow) const override;
};

}  // namespace linkscope::mpi
