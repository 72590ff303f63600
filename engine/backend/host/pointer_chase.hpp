// pointer-chase on a CPU: the time of one dependent load.
#pragma once

#include <memory>
#include <utility>

#include "backend/host/context.hpp"
#include "model/method.hpp"

namespace linkscope::host {

/// One thread follows pointers through `bytes` of the source in a random order that no prefetcher foresees.
/// A transfer is `hops` loads and goes on where the last one ended. The order and its defaults are those of
/// google/multichase (see ChaseOrder), whose figures it reproduces.
class HostPointerChase final : public ClassMethod {
 public:
  explicit HostPointerChase(std::shared_ptr<HostContext> context)
      : ClassMethod({"pointer-chase", "latency of dependent loads in random order", Quantity::latency,
                     pointer_chase_traits}),
        context_(std::move(context)) {}

  [[nodiscard]] std::map<std::string, std::string> parameters() const override;
  [[nodiscard]] Support available() const override { return Support::yes(); }
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] std::unique_ptr<Transfer> prepare(const Flow& flow, const Arenas& arenas) const override;

 private:
  std::shared_ptr<HostContext> context_;
};

}  // namespace linkscope::host
