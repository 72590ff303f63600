// The methods that a Python child carries out, its part of their flows, and the gate that starts it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/python/child.hpp"
#include "model/method.hpp"
#include "model/transfer.hpp"

namespace linkscope::python {

/// One process's part of a flow, which its Python child has made ready and carries out.
class PythonTransfer final : public Transfer {
 public:
  /// The child has it prepared under `id`, to be timed by `clock`; it is told to give it back when this goes.
  PythonTransfer(std::shared_ptr<PythonContext> context, std::uint64_t id, Clock clock)
      : context_(std::move(context)), id_(id), clock_(clock) {}
  ~PythonTransfer() override;

  /// Takes what the child says of the transfer once it is connected with its partners. Called before anything else.
  void learn(const Message& facts);

  void arm(std::uint64_t seed) override;
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override;
  [[nodiscard]] Bytes verified_bytes() const override { return verified_bytes_; }
  void flush() override {}  // no case that wants it is taken
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }

  [[nodiscard]] Clock clock() const { return clock_; }
  /// Has the child run it so often. The gate hears of its end: end().
  void begin(std::uint64_t repeats);
  /// The child's own stamps, which are on this host's steady clock.
  [[nodiscard]] Span end();

 private:
  [[nodiscard]] Message command(const char* what) const { return {{"do", what}, {"id", id_}}; }

  std::shared_ptr<PythonContext> context_;
  std::uint64_t id_;
  Clock clock_;
  std::vector<std::string> notes_;
  mutable Bytes verified_bytes_ = 0;  ///< by the last verify()
};

/// Starts transfers of the Python child. The child meets its partners' and stamps its own work, so that no figure holds
/// the way to it.
class PythonGate final : public Gate {
 public:
  [[nodiscard]] Support accepts(const Transfer& transfer) const override;
  /// Throws Error{broken} for what the child was not told when it prepared the transfer: another clock, a tail.
  void hold(const std::vector<Lane>& lanes, Clock clock) override;
  void open() override;
  std::vector<Span> collect() override;
  /// The engine's other gates resolve less than Python's clock, and min_sample_s is longer than both.
  [[nodiscard]] Seconds resolution(Clock /*clock*/) const override { return 0; }

 private:
  std::vector<Lane> held_;
};

/// The methods of PyTorch, of packages beside it and of mpi4py. The child checks what a row does not say, allocates what
/// the ends say (tensors, which are no Buffer), and takes a case's clock and cache state as they are: the engine holds
/// no memory for these flows.
[[nodiscard]] std::vector<Method> methods(const std::shared_ptr<PythonContext>& context);

}  // namespace linkscope::python
