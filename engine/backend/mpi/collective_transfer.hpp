// MpiCollectiveTransfer: one member's calls of a collective.
#pragma once

#include <optional>

#include "backend/mpi/message_calls.hpp"
#include "backend/mpi/mpi_transfer.hpp"
#include "model/collective_check.hpp"

namespace linkscope::mpi {

/// A member of a collective, as the plan says it.
struct MpiMember {
  int index = 0;
  Caller caller;
  Arenas arenas;
};

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

}  // namespace linkscope::mpi
