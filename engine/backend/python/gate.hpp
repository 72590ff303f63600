// PythonGate: starts transfers of the Python child.
#pragma once

#include <vector>

#include "model/transfer.hpp"

namespace linkscope::python {

/// The child meets its partners' and stamps its own work, so that no figure holds the way to it.
class PythonGate final : public Gate {
 public:
  [[nodiscard]] Support accepts(const Transfer& transfer) const override;
  void hold(const std::vector<Lane>& lanes, Clock clock) override;
  void open() override;
  std::vector<Span> collect() override;
  /// The engine's other gates resolve less than Python's clock, and min_sample_s is longer than both.
  [[nodiscard]] Seconds resolution(Clock /*clock*/) const override { return 0; }

 private:
  std::vector<Lane> held_;
};

}  // namespace linkscope::python
