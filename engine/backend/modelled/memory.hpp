// ModelledMemory: every kind of memory that a described node is taken to have.
#pragma once

#include <memory>

#include "backend/modelled/context.hpp"
#include "backend/modelled/rows.hpp"
#include "model/method.hpp"

namespace linkscope::modelled {

/// One of memory_specs. Where it lives is modelled; what a kind changes besides (staging, migration) is in the figures
/// of its flows.
class ModelledMemory : public Memory {
 public:
  ModelledMemory(std::shared_ptr<const ModelledContext> context, const MemorySpec& spec)
      : Memory(spec), context_(std::move(context)) {}

  /// The description decides what advice does: its rules are for a method in a memory.
  [[nodiscard]] bool takes_advice() const override { return traits().migrates; }
  [[nodiscard]] Support available() const override { return Support::yes(); }
  [[nodiscard]] Support supports(const Endpoint& where) const override;
  /// Throws Error{no_memory} for more than the described device has.
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override;

 private:
  std::shared_ptr<const ModelledContext> context_;
};

}  // namespace linkscope::modelled
