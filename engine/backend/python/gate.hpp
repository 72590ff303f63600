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
  /// Between two starts the threads of PyTorch's libraries sleep: a sample of a host's clock must be so long that their
  /// waking does not show. A GPU's clock is the GPU gate's to judge.
  [[nodiscard]] Seconds resolution(Clock clock) const override { return clock == Clock::device ? 0 : waking; }

 private:
  static constexpr Seconds waking = 0.002;  ///< ten calls by Gloo and more

  std::vector<Lane> held_;
};

}  // namespace linkscope::python
