// PythonMethod: the methods that a Python child carries out, one row each.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "backend/python/context.hpp"
#include "model/method.hpp"

namespace linkscope::python {

/// Who takes part in a flow.
enum class FlowEnds { one_process, two_processes, members };

struct PythonMethodRow {
  MethodSpec spec;
  const char* needs;  ///< as PythonContext::has
  FlowEnds ends;
  std::map<std::string, std::string> (*parameters)();
};

[[nodiscard]] const std::array<PythonMethodRow, 4>& method_rows();

/// The child checks what the row does not say, allocates what the ends say (tensors, which are no Buffer), and takes a
/// case's clock and cache state as they are: the engine holds no memory for these flows.
class PythonMethod final : public ClassMethod {
 public:
  PythonMethod(std::shared_ptr<PythonContext> context, const PythonMethodRow& row)
      : ClassMethod(row.spec), context_(std::move(context)), row_(&row) {}

  [[nodiscard]] Quantity quantity_of(const Flow& flow) const override;
  [[nodiscard]] std::map<std::string, std::string> parameters() const override { return row_->parameters(); }
  [[nodiscard]] Support available() const override { return context_->has(row_->needs); }
  [[nodiscard]] Support supports(const Flow& /*flow*/) const override { return Support::yes(); }
  [[nodiscard]] Support supports_in(const Flow& flow, const Case& wanted) const override;
  [[nodiscard]] Bytes footprint(const Flow& /*flow*/) const override { return 0; }
  [[nodiscard]] Reach reach() const override {
    return row_->ends == FlowEnds::one_process ? Reach::process : Reach::processes;
  }
  [[nodiscard]] std::vector<FlowPart> parts(const Flow& flow) const override;
  [[nodiscard]] std::unique_ptr<PreparedParts> assemble(const Flow& flow,
                                                        const std::vector<LocalPart>& own) const override;
  /// Throws Error{broken}: assemble() makes its flows ready.
  [[nodiscard]] std::unique_ptr<Transfer> prepare(const Flow& flow, const Arenas& arenas) const override;

 private:
  std::shared_ptr<PythonContext> context_;
  const PythonMethodRow* row_;
};

}  // namespace linkscope::python
