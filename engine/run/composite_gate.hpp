// CompositeGate: starts the lanes of several backends as one case.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "model/transfer.hpp"

namespace linkscope {

/// Gives every lane to the first gate that accepts its transfer. All gates are held before the first one
/// opens; they open one right after another, and their stamps compare because each is on the host's steady
/// clock.
class CompositeGate : public Gate {
 public:
  explicit CompositeGate(std::vector<std::unique_ptr<Gate>> gates) : gates_(std::move(gates)) {}

  [[nodiscard]] Support accepts(const Transfer& transfer) const override;
  void hold(const std::vector<Lane>& lanes, Clock clock) override;
  void open() override;
  std::vector<Span> collect() override;
  [[nodiscard]] Seconds resolution(Clock clock) const override;
  [[nodiscard]] std::vector<Seconds> clock_errors() const override;
  [[nodiscard]] Seconds stolen() const override;

 private:
  /// One gate's lanes of the case under way, and where they stand in it.
  struct GateLanes {
    Gate* gate = nullptr;
    std::vector<Lane> lanes;
    std::vector<std::size_t> places;
  };

  [[nodiscard]] std::vector<GateLanes> divide(const std::vector<Lane>& lanes) const;

  std::vector<std::unique_ptr<Gate>> gates_;
  std::vector<GateLanes> held_;
};

}  // namespace linkscope
