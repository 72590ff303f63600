// Dispatch: one name in the catalog for a method that CPUs and GPUs each carry out in their own way.
#pragma once

#include <memory>
#include <string>

#include "base/error.hpp"
#include "model/method.hpp"

namespace linkscope {

/// Picks the implementation by the kind of the flow's executor; a CPU's flow goes to the GPU backend where only that
/// takes it (a CPU that works on managed memory). Both state the same quantity and traits; parameters are both's.
class Dispatch : public Method {
 public:
  Dispatch(std::unique_ptr<Method> on_cpu, std::unique_ptr<Method> on_gpu)
      : Method(on_cpu->spec()), on_cpu_(std::move(on_cpu)), on_gpu_(std::move(on_gpu)) {
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

  [[nodiscard]] Bytes footprint(const Flow& flow) const override { return pick(flow).footprint(flow); }
  [[nodiscard]] Bytes slot_stride(const Flow& flow) const override { return pick(flow).slot_stride(flow); }

  [[nodiscard]] std::unique_ptr<Transfer> prepare(const Flow& flow, const Arenas& arenas) const override {
    return pick(flow).prepare(flow, arenas);
  }

  [[nodiscard]] Bytes rotation_bytes(const Flow& flow) const override {
    return pick(flow).rotation_bytes(flow);
  }

 private:
  [[nodiscard]] const Method& pick(const Flow& flow) const {
    if (flow.executor.kind == DeviceKind::gpu) return *on_gpu_;
    const bool gpu_alone = !on_cpu_->supports(flow) && on_gpu_->available() && on_gpu_->supports(flow);
    return gpu_alone ? *on_gpu_ : *on_cpu_;
  }

  std::unique_ptr<Method> on_cpu_;
  std::unique_ptr<Method> on_gpu_;
};

}  // namespace linkscope
