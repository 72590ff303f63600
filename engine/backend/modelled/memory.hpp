// ModelledMemory: every kind of memory that a described node is taken to have.
#pragma once

#include <memory>

#include "backend/modelled/context.hpp"
#include "backend/modelled/rows.hpp"
#include "model/method.hpp"

namespace linkscope::modelled {

/// One row of memory_rows. What a kind changes on a real machine (who may touch it, staging, migration) is not
/// modelled beyond what ModelledMethod::supports says; where it lives is.
class ModelledMemory : public Memory {
 public:
  ModelledMemory(std::shared_ptr<const ModelledContext> context, MemoryRow row)
      : context_(std::move(context)), row_(row) {}

  [[nodiscard]] std::string_view name() const override { return row_.name; }
  [[nodiscard]] std::string_view summary() const override { return row_.summary; }
  [[nodiscard]] Support available() const override { return Support::yes(); }
  [[nodiscard]] Support supports(const Endpoint& where) const override;
  /// Throws Error{no_memory} for more than the described device has.
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override;

 private:
  std::shared_ptr<const ModelledContext> context_;
  MemoryRow row_;
};

}  // namespace linkscope::modelled
