// RemoteTransfer: stands for a part that another process carries out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/transfer.hpp"
#include "record/json_lines.hpp"

namespace linkscope {

/// What the measurement asks of a transfer, as the process that has it says; arming and checking are that process's.
class RemoteTransfer final : public Transfer {
 public:
  /// `stated`: what that process's statement_of() the transfer gave.
  explicit RemoteTransfer(const Json& stated);

  void arm(std::uint64_t /*seed*/) override {}
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t /*seed*/) const override { return std::nullopt; }
  [[nodiscard]] Bytes verified_bytes() const override { return 0; }
  void flush() override {}
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }

 private:
  std::vector<std::string> notes_;
};

/// The facts of `transfer` and its remarks so far: what a RemoteTransfer must know of it.
Json statement_of(const Transfer& transfer);

Json json_of(const TransferFacts& facts);
/// The inverse of json_of().
TransferFacts facts_from(const Json& json);

}  // namespace linkscope
