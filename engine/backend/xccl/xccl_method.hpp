// XcclMethod: what the methods by NCCL or RCCL have in common.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "backend/xccl/context.hpp"
#include "model/method.hpp"

namespace linkscope::xccl {

/// Their parts are on GPUs, of one process or of several.
class XcclMethod : public MultiPartMethod {
 public:
  XcclMethod(std::shared_ptr<XcclContext> context, const MethodSpec& spec)
      : MultiPartMethod(spec), context_(std::move(context)) {}
  [[nodiscard]] Support available() const final { return context_->available(); }
  /// 0 for a graph, which is recorded for one slot.
  [[nodiscard]] Bytes rotation_bytes(const Flow& flow) const final;

 protected:
  [[nodiscard]] const std::shared_ptr<XcclContext>& context() const { return context_; }
  /// Whether the library makes calls as the flow's parameters say. Throws Error{bad_input} for words that mean nothing.
  [[nodiscard]] Support has_form(const Flow& flow) const;

 private:
  /// Whose memory the flow uses.
  [[nodiscard]] virtual std::vector<DeviceId> gpus(const Flow& flow) const = 0;

  std::shared_ptr<XcclContext> context_;
};

}  // namespace linkscope::xccl
