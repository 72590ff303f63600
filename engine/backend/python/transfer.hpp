// PythonTransfer: one process's part of a flow, which its Python child has made ready and carries out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/python/context.hpp"
#include "model/transfer.hpp"

namespace linkscope::python {

class PythonTransfer final : public Transfer {
 public:
  /// The child has it prepared under `id`; it is told to give it back when this goes.
  PythonTransfer(std::shared_ptr<PythonContext> context, std::uint64_t id)
      : context_(std::move(context)), id_(id) {}
  ~PythonTransfer() override;

  /// What the child says of it once it is connected with its partners. Before anything else.
  void learn(const Message& facts);

  void arm(std::uint64_t seed) override;
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override;
  [[nodiscard]] Bytes verified_bytes() const override { return verified_bytes_; }
  void flush() override {}  // no case that wants it is taken
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }

  /// Has the child run it so often. The gate hears of its end: end().
  void begin(std::uint64_t repeats);
  /// The child's own stamps, which are on this host's steady clock.
  [[nodiscard]] Span end();

 private:
  [[nodiscard]] Message command(const char* what) const { return {{"do", what}, {"id", id_}}; }

  std::shared_ptr<PythonContext> context_;
  std::uint64_t id_;
  std::vector<std::string> notes_;
  mutable Bytes verified_bytes_ = 0;  ///< by the last verify()
};

}  // namespace linkscope::python
