// ModelledGate: starts lanes on a virtual clock.
#pragma once

#include <memory>
#include <vector>

#include "backend/modelled/context.hpp"
#include "backend/modelled/transfer.hpp"
#include "model/transfer.hpp"

namespace linkscope::modelled {

/// Virtual seconds since the gate was made; they pass only while lanes run, and cost next to no real time.
/// Both clocks read the same: launch cost stands in no description apart from a method's latency.
/// With Machine::noise every span is stretched or shortened by a deterministic pseudo-random factor whose
/// deviation from 1 stays below `noise`; equal runs give equal spans.
class ModelledGate : public Gate {
 public:
  explicit ModelledGate(std::shared_ptr<const ModelledContext> context) : context_(std::move(context)) {}

  [[nodiscard]] Support accepts(const Transfer& transfer) const override;
  void hold(const std::vector<Lane>& lanes, Clock clock) override;
  /// Nothing: virtual lanes run in collect().
  void open() override {}
  /// Moves each lane's real bytes once. See ModelledTransfer::move for what may happen instead.
  std::vector<Span> collect() override;
  /// 0: a virtual span is exact.
  [[nodiscard]] Seconds resolution(Clock /*clock*/) const override { return 0; }

 private:
  [[nodiscard]] double next_stretch();

  std::shared_ptr<const ModelledContext> context_;
  std::vector<ModelledTransfer*> held_;
  std::vector<LaneWork> works_;
  std::vector<Seconds> lengths_;  ///< of works_: playing the same again would give the same
  bool played_ = false;
  Seconds now_ = 0;
  std::uint64_t draws_ = 0;
};

}  // namespace linkscope::modelled
