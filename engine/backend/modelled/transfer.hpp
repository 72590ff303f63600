// ModelledTransfer: a flow as virtual work plus real bytes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/modelled/flow_payload.hpp"
#include "backend/modelled/play.hpp"
#include "model/transfer.hpp"

namespace linkscope::modelled {

/// A fault that a flow asks for by its parameter `inject`: for tests of what supervises an engine.
enum class Injection { none, crash, hang, corrupt, error };

/// Throws Error{bad_input} for a word that is none of them.
[[nodiscard]] Injection injection_of(const Flow& flow);

class ModelledTransfer : public Transfer {
 public:
  /// `work`: one transfer. `operations`: dependent operations in it.
  ModelledTransfer(LaneWork work, std::uint64_t operations, std::unique_ptr<FlowPayload> payload,
                   Injection injection)
      : work_(std::move(work)), payload_(std::move(payload)), injection_(injection) {
    own_facts().operations = operations;
  }

  /// Bytes read plus written by one transfer, where users expect that beside the payload.
  void touches(Bytes bytes) { own_facts().touched_bytes = bytes; }
  /// What breakdown() and notes() are to say.
  void tells(Breakdown breakdown, std::vector<std::string> notes) {
    breakdown_ = std::move(breakdown);
    remarks_ = std::move(notes);
  }
  [[nodiscard]] const LaneWork& work() const { return work_; }
  /// Moves the real bytes once, and does what `inject` asks for: ends the process, never returns, damages a
  /// byte, or throws Error{broken}.
  void move();

  void arm(std::uint64_t seed) override { payload_->arm(seed); }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override {
    return payload_->verify(seed);
  }
  [[nodiscard]] Bytes verified_bytes() const override { return payload_->verified_bytes(); }
  [[nodiscard]] std::optional<Breakdown> breakdown() const override { return breakdown_; }
  /// Nothing: no cache is modelled.
  void flush() override {}
  [[nodiscard]] std::vector<std::string> notes() const override { return remarks_; }

 private:
  LaneWork work_;
  std::unique_ptr<FlowPayload> payload_;
  Injection injection_;
  std::optional<Breakdown> breakdown_;
  std::vector<std::string> remarks_;
};

}  // namespace linkscope::modelled
