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
  /// `facts`: facts_of() the transfer, where it is.
  explicit RemoteTransfer(const Json& facts);

  void arm(std::uint64_t /*seed*/) override {}
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t /*seed*/) const override { return std::nullopt; }
  [[nodiscard]] Bytes verified_bytes() const override { return 0; }
  [[nodiscard]] bool accumulates() const override { return accumulates_; }
  void flush() override {}
  [[nodiscard]] Bytes touched_bytes() const override { return touched_bytes_; }
  [[nodiscard]] std::uint64_t operations() const override { return operations_; }
  [[nodiscard]] std::uint64_t max_repeats() const override { return max_repeats_; }
  [[nodiscard]] std::uint64_t max_calls_in_batch() const override { return max_calls_in_batch_; }
  [[nodiscard]] std::string call_group() const override { return company_; }
  [[nodiscard]] std::vector<Setting> candidates() const override { return candidates_; }
  void use(const Setting& setting) override { setting_ = setting; }
  [[nodiscard]] Setting setting() const override { return setting_; }
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }

 private:
  bool accumulates_;
  Bytes touched_bytes_;
  std::uint64_t operations_;
  std::uint64_t max_repeats_;
  std::uint64_t max_calls_in_batch_;
  std::string company_;
  std::vector<Setting> candidates_;
  Setting setting_;
  std::vector<std::string> notes_;
};

/// What a RemoteTransfer must know of `transfer`.
Json facts_of(const Transfer& transfer);

}  // namespace linkscope
