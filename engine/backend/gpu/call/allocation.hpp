// allocate, free, register and unregister: what memory costs before it is used.
#pragma once

#include "backend/gpu/call/call_method.hpp"
#include "backend/host/allocation_calls.hpp"

namespace linkscope::gpu {

/// One call on a block of flow.bytes of the memory that the destination names. The calls are made by a CPU of the
/// destination's node where that is one, else of the node beside the GPU.
class GpuAllocationMethod : public CallMethod {
 public:
  GpuAllocationMethod(std::shared_ptr<GpuContext> context, host::Measured measured)
      : CallMethod(std::move(context)), measured_(measured) {}
  [[nodiscard]] Support supports(const Flow& flow) const override;

 private:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;

  host::Measured measured_;
};

class GpuAllocate final : public GpuAllocationMethod {
 public:
  explicit GpuAllocate(std::shared_ptr<GpuContext> context)
      : GpuAllocationMethod(std::move(context), host::Measured::take) {}
  [[nodiscard]] std::string_view name() const override { return "allocate"; }
  [[nodiscard]] std::string_view summary() const override { return "time of one allocation, untouched"; }
};

class GpuFree final : public GpuAllocationMethod {
 public:
  explicit GpuFree(std::shared_ptr<GpuContext> context)
      : GpuAllocationMethod(std::move(context), host::Measured::give_back) {}
  [[nodiscard]] std::string_view name() const override { return "free"; }
  [[nodiscard]] std::string_view summary() const override { return "time to give one untouched block back"; }
};

/// Page-locking memory that exists and has been touched.
class RegistrationMethod : public CallMethod {
 public:
  RegistrationMethod(std::shared_ptr<GpuContext> context, host::Measured measured)
      : CallMethod(std::move(context)), measured_(measured) {}
  [[nodiscard]] Support supports(const Flow& flow) const override;

 private:
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;

  host::Measured measured_;
};

class Register final : public RegistrationMethod {
 public:
  explicit Register(std::shared_ptr<GpuContext> context)
      : RegistrationMethod(std::move(context), host::Measured::take) {}
  [[nodiscard]] std::string_view name() const override { return "register"; }
  [[nodiscard]] std::string_view summary() const override { return "time to page-lock touched host memory"; }
};

class Unregister final : public RegistrationMethod {
 public:
  explicit Unregister(std::shared_ptr<GpuContext> context)
      : RegistrationMethod(std::move(context), host::Measured::give_back) {}
  [[nodiscard]] std::string_view name() const override { return "unregister"; }
  [[nodiscard]] std::string_view summary() const override { return "time to undo a registration"; }
};

/// Whether `flow` names memory and nothing else.
[[nodiscard]] Support names_memory(const Flow& flow);

}  // namespace linkscope::gpu
