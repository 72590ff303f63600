// allocate and free on the host: what malloc, huge pages and their release cost.
#pragma once

#include <memory>
#include <string>

#include "backend/host/allocation_calls.hpp"
#include "backend/host/context.hpp"
#include "model/method.hpp"

namespace linkscope::host {

/// One call on a block of flow.bytes of the memory that the destination names. No page is touched; see first-touch.
class AllocationMethod : public Method {
 public:
  AllocationMethod(std::shared_ptr<Context> context, Measured measured)
      : context_(std::move(context)), measured_(measured) {}

  [[nodiscard]] Quantity quantity() const override { return Quantity::latency; }
  [[nodiscard]] Support available() const override { return Support::yes(); }
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] Bytes footprint(const Flow& /*flow*/) const override { return 0; }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(const Flow& flow, const Arenas& arenas) const override;

 private:
  std::shared_ptr<Context> context_;
  Measured measured_;
};

class Allocate final : public AllocationMethod {
 public:
  explicit Allocate(std::shared_ptr<Context> context)
      : AllocationMethod(std::move(context), Measured::take) {}
  [[nodiscard]] std::string_view name() const override { return "allocate"; }
  [[nodiscard]] std::string_view summary() const override { return "time of one allocation, untouched"; }
};

class Free final : public AllocationMethod {
 public:
  explicit Free(std::shared_ptr<Context> context)
      : AllocationMethod(std::move(context), Measured::give_back) {}
  [[nodiscard]] std::string_view name() const override { return "free"; }
  [[nodiscard]] std::string_view summary() const override { return "time to give one untouched block back"; }
};

/// Whether `flow` is a call on pageable or huge memory: no source, and a destination that names it on a NUMA node.
[[nodiscard]] Support names_host_memory(const Flow& flow);
/// The calls on such memory by a CPU of `node`. Throws Error{no_memory} where not one block fits.
[[nodiscard]] std::unique_ptr<Transfer> make_host_calls(Context& context, int node, const Flow& flow,
                                                        Measured measured);

}  // namespace linkscope::host
