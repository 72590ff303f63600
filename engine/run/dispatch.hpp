// Dispatch, DispatchParts: one name in the catalog for a method that CPUs and GPUs each carry out in their own way.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "model/method.hpp"

namespace linkscope {

/// What both have in common. `Kind`: Method or MultiPartMethod. CPUs and GPUs state the same quantity and traits;
/// parameters are both's.
template <class Kind>
class Dispatching : public Kind {
 public:
  Dispatching(std::unique_ptr<Method> on_cpu, std::unique_ptr<Method> on_gpu)
      : Kind(on_cpu->spec()), on_cpu_(std::move(on_cpu)), on_gpu_(std::move(on_gpu)) {
    if (on_gpu_->quantity() != this->quantity() || on_gpu_->traits() != this->traits())
      throw Error(Fault::broken, std::string(this->name()) + ": CPUs and GPUs state different things of it");
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

 protected:
  /// Which of the two carries this flow out.
  [[nodiscard]] virtual const Method& pick(const Flow& flow) const = 0;
  [[nodiscard]] const Method& on_cpu() const { return *on_cpu_; }
  [[nodiscard]] const Method& on_gpu() const { return *on_gpu_; }

 private:
  std::unique_ptr<Method> on_cpu_;
  std::unique_ptr<Method> on_gpu_;
};

/// Picks the implementation by the kind of the flow's executor; a CPU's flow goes to the GPU backend where only that
/// takes it (a CPU that works on managed memory).
class Dispatch : public Dispatching<Method> {
 public:
  using Dispatching::Dispatching;

  [[nodiscard]] std::unique_ptr<Transfer> prepare(const Flow& flow, const Arenas& arenas) const override {
    return pick(flow).prepare(flow, arenas);
  }

 private:
  [[nodiscard]] const Method& pick(const Flow& flow) const override {
    if (flow.executor.kind == DeviceKind::gpu) return on_gpu();
    const bool gpu_alone = !on_cpu().supports(flow) && on_gpu().available() && on_gpu().supports(flow);
    return gpu_alone ? on_gpu() : on_cpu();
  }
};

/// Of a method of several parts: picks by whether a GPU has any of the flow's state or, without any, of its members.
class DispatchParts final : public Dispatching<MultiPartMethod> {
 public:
  using Dispatching::Dispatching;

  [[nodiscard]] std::vector<FlowPart> parts(const Flow& flow) const override {
    return pick(flow).parts(flow);
  }
  [[nodiscard]] std::unique_ptr<PreparedParts> assemble(const Flow& flow,
                                                        const std::vector<LocalPart>& own) const override {
    return pick(flow).assemble(flow, own);
  }

 private:
  [[nodiscard]] const Method& pick(const Flow& flow) const override {
    const auto& workers = flow.state.empty() ? flow.members : flow.state;
    const bool has_gpu = std::any_of(workers.begin(), workers.end(),
                                     [](const Endpoint& one) { return one.device.kind == DeviceKind::gpu; });
    return has_gpu ? on_gpu() : on_cpu();
  }
};

}  // namespace linkscope
