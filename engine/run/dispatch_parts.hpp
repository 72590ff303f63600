// DispatchParts: one name in the catalog for a method of several parts that CPUs and GPUs each carry out in their own way.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "model/method.hpp"

namespace linkscope {

/// Picks the implementation by whether a GPU has any of the flow's state or, without any, of its members. Both state the
/// same quantity and traits; parameters are both's.
class DispatchParts final : public MultiPartMethod {
 public:
  DispatchParts(std::unique_ptr<Method> on_cpu, std::unique_ptr<Method> on_gpu)
      : MultiPartMethod(on_cpu->spec()), on_cpu_(std::move(on_cpu)), on_gpu_(std::move(on_gpu)) {
    if (on_gpu_->quantity() != quantity() || on_gpu_->traits() != traits())
      throw Error(Fault::broken, std::string(name()) + ": CPUs and GPUs state different things of it");
  }

  [[nodiscard]] std::map<std::string, std::string> parameters() const override {
    auto both = on_cpu_->parameters();
    both.merge(on_gpu_->parameters());
    return both;
  }
  [[nodiscard]] Support available() const override {
    return on_cpu_->available() ? on_cpu_->available() : on_gpu_->available();
  }
  [[nodiscard]] Support supports(const Flow& flow) const override {
    const Method& method = pick(flow);
    const Support available = method.available();
    return available ? method.supports(flow) : available;
  }
  [[nodiscard]] Support supports_in(const Flow& flow, const Case& wanted) const override {
    return pick(flow).supports_in(flow, wanted);
  }
  [[nodiscard]] Bytes footprint(const Flow& flow) const override { return pick(flow).footprint(flow); }
  [[nodiscard]] Bytes slot_stride(const Flow& flow) const override { return pick(flow).slot_stride(flow); }
  [[nodiscard]] Bytes rotation_bytes(const Flow& flow) const override {
    return pick(flow).rotation_bytes(flow);
  }
  [[nodiscard]] std::vector<FlowPart> parts(const Flow& flow) const override {
    return pick(flow).parts(flow);
  }
  [[nodiscard]] std::unique_ptr<PreparedParts> assemble(const Flow& flow,
                                                        const std::vector<LocalPart>& own) const override {
    return pick(flow).assemble(flow, own);
  }

 private:
  [[nodiscard]] const Method& pick(const Flow& flow) const {
    const auto& workers = flow.state.empty() ? flow.members : flow.state;
    const bool on_gpu = std::any_of(workers.begin(), workers.end(),
                                    [](const Endpoint& one) { return one.device.kind == DeviceKind::gpu; });
    return on_gpu ? *on_gpu_ : *on_cpu_;
  }

  std::unique_ptr<Method> on_cpu_;
  std::unique_ptr<Method> on_gpu_;
};

}  // namespace linkscope
