// FlowPayload: the real bytes behind a modelled flow, and the proof that they arrived.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "backend/modelled/rows.hpp"
#include "model/method.hpp"
#include "model/transfer.hpp"

namespace linkscope::modelled {

/// Moves what is real of the buffers (see ModelledBuffer::window), as the method would.
class FlowPayload {
 public:
  virtual ~FlowPayload() = default;
  virtual void arm(std::uint64_t seed) = 0;
  virtual void move() = 0;
  /// Damages one byte where verify() must notice it.
  virtual void spoil() = 0;
  [[nodiscard]] virtual std::optional<Mismatch> verify(std::uint64_t seed) const = 0;
  /// Real bytes that verify() compares.
  [[nodiscard]] virtual Bytes verified_bytes() const = 0;
};

/// The payload of a flow of `bytes` in slot 0 of `arenas`, which outlives it.
std::unique_ptr<FlowPayload> make_payload(Motion shape, const Arenas& arenas, Bytes bytes);

}  // namespace linkscope::modelled
