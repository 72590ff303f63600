// allocate and free on the host: what malloc, huge pages and their release cost.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "backend/host/allocation_calls.hpp"
#include "backend/host/context.hpp"
#include "model/method.hpp"

namespace linkscope::host {

/// One call on a block of flow.bytes of the memory that the destination names. No page is touched; see first-touch.
class HostAllocationMethod : public ClassMethod {
 public:
  HostAllocationMethod(std::shared_ptr<HostContext> context, const MethodSpec& spec, Measured measured)
      : ClassMethod(spec), context_(std::move(context)), measured_(measured) {}

  [[nodiscard]] Support available() const override { return Support::yes(); }
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] Bytes footprint(const Flow& /*flow*/) const override { return 0; }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(const Flow& flow, const Arenas& arenas) const override;

 private:
  std::shared_ptr<HostContext> context_;
  Measured measured_;
};

class HostAllocate final : public HostAllocationMethod {
 public:
  explicit HostAllocate(std::shared_ptr<HostContext> context)
      : HostAllocationMethod(
            std::move(context),
            {"allocate", "time of one allocation, untouched", Quantity::latency, allocation_traits},
            Measured::take) {}
};

class HostFree final : public HostAllocationMethod {
 public:
  explicit HostFree(std::shared_ptr<HostContext> context)
      : HostAllocationMethod(
            std::move(context),
            {"free", "time to give one untouched block back", Quantity::latency, allocation_traits},
            Measured::give_back) {}
};

/// Whether `flow` is a call on pageable or huge memory: no source, and a destination that names it on a NUMA node.
[[nodiscard]] Support names_host_memory(const Flow& flow);
/// The calls on such memory by a CPU of `node`. Throws Error{no_memory} where not one block fits.
[[nodiscard]] std::unique_ptr<Transfer> make_host_calls(HostContext& context, int node, const Flow& flow,
                                                        Measured measured);

}  // namespace linkscope::host
