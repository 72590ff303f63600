// allocate, free, register and unregister: what memory costs before it is used.
#pragma once

#include <utility>

#include "backend/gpu/call/call_method.hpp"
#include "backend/gpu/memory/runtime_allocation.hpp"
#include "backend/host/allocation_calls.hpp"

namespace linkscope::gpu {

/// One call on a block of flow.bytes of the memory that the destination names. The calls are made by a CPU of the
/// destination's node where that is one, else of the node beside the GPU.
class GpuAllocationMethod : public CallMethod {
 public:
  GpuAllocationMethod(std::shared_ptr<GpuContext> context, RuntimeCallTable calls, const MethodSpec& spec,
                      host::Measured measured)
      : CallMethod(std::move(context), spec), calls_(std::move(calls)), measured_(measured) {}
  [[nodiscard]] Support supports(const Flow& flow) const override;

 private:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;

  RuntimeCallTable calls_;
  host::Measured measured_;
};

class GpuAllocate final : public GpuAllocationMethod {
 public:
  GpuAllocate(std::shared_ptr<GpuContext> context, RuntimeCallTable calls)
      : GpuAllocationMethod(
            std::move(context), std::move(calls),
            {"allocate", "time of one allocation, untouched", Quantity::latency, allocation_traits},
            host::Measured::take) {}
};

class GpuFree final : public GpuAllocationMethod {
 public:
  GpuFree(std::shared_ptr<GpuContext> context, RuntimeCallTable calls)
      : GpuAllocationMethod(
            std::move(context), std::move(calls),
            {"free", "time to give one untouched block back", Quantity::latency, allocation_traits},
            host::Measured::give_back) {}
};

/// Page-locking memory that exists and has been touched.
class RegistrationMethod : public CallMethod {
 public:
  RegistrationMethod(std::shared_ptr<GpuContext> context, const MethodSpec& spec, host::Measured measured)
      : CallMethod(std::move(context), spec), measured_(measured) {}
  [[nodiscard]] Support supports(const Flow& flow) const override;

 private:
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;

  host::Measured measured_;
};

class Register final : public RegistrationMethod {
 public:
  explicit Register(std::shared_ptr<GpuContext> context)
      : RegistrationMethod(
            std::move(context),
            {"register", "time to page-lock touched host memory", Quantity::latency, allocation_traits},
            host::Measured::take) {}
};

class Unregister final : public RegistrationMethod {
 public:
  explicit Unregister(std::shared_ptr<GpuContext> context)
      : RegistrationMethod(std::move(context),
                           {"unregister", "time to undo a registration", Quantity::latency},
                           host::Measured::give_back) {}
};

/// Whether `flow` names memory and nothing else.
[[nodiscard]] Support names_memory(const Flow& flow);

}  // namespace linkscope::gpu
